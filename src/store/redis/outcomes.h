// The replies of a script, as outcomes.
#pragma once

#include "pawl/result.h"
#include "store/operation.h"
#include "store/redis/reply.h"

namespace pawl::store::redis {

// {kind, reason, answers...} of one operation.
Result<Outcome> read_outcome(const Operation& operation, const Reply& reply);

}  // namespace pawl::store::redis
