// Operations that run their own statements, because they are rare or do not find their rows by a key.
#pragma once

#include "store/operation.h"
#include "store/postgres/connection.h"

namespace pawl::store::postgres {

// The outcome of the operation, or the reason why the server did not do it.
struct Alone {
  Outcome outcome;
  std::optional<Failure> failure{};
};

// REQUIRES: !is_for_desk(operation); a transaction is open, and the earlier operations of its group are written.
Alone apply_alone(Connection& connection, const Operation& operation, Instant now);

// claims.cc: items of the given topics, by highest priority first, then oldest first. Skips items that another
// transaction has locked.
Alone apply_alone(Connection& connection, const ClaimWork& claim, Instant now);

}  // namespace pawl::store::postgres
