// A copy of a store in a file, made while it is used. The copy has its name only once it is whole: it is written and
// verified as `<path>.part`, synced, and then renamed.
#pragma once

#include <string>

#include "base/clock.h"
#include "pawl/survey.h"
#include "runtime/open_store.h"

namespace pawl::runtime {

// already_exists: the path is taken, or another backup to it is under way or was cut off.
Result<Verified> back_up(OpenedStore& store, const std::string& path, const SteadyClock& clock);

}  // namespace pawl::runtime
