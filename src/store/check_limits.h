// The sizes that no store accepts, checked in one place for all of them. What passes here fits every store, so a job
// can move from one store to another.
#pragma once

#include "pawl/result.h"
#include "store/duplex_operation.h"
#include "store/operation.h"

namespace pawl::store {

// over_limit names the first field that is too large. A store answers `rejected` with this text.
Status check_limits(const Operation& operation);
Status check_limits(const DuplexOperation& operation);

}  // namespace pawl::store
