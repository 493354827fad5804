// The sizes that no store takes, checked once for all of them: what passes here fits every store,
// so a job can move from one to another.
#pragma once

#include "pawl/result.h"
#include "store/duplex_operation.h"
#include "store/operation.h"

namespace pawl::store {

// over_limit names the first field that is too large. A store answers `rejected` with its text.
Status check_limits(const Operation& operation);
Status check_limits(const DuplexOperation& operation);

}  // namespace pawl::store
