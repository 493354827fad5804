// Operations that are statements of their own: they are rare, or find their rows by something else than a key.
#pragma once

#include "store/operation.h"
#include "store/postgres/connection.h"

namespace pawl::store::postgres {

// What the operation came to, or why the server did not do it.
struct Alone {
  Outcome outcome;
  std::optional<Failure> failure{};
};

// REQUIRES: !is_for_desk(operation); a transaction is open, and what came before in its group is written.
Alone apply_alone(Connection& connection, const Operation& operation, Instant now);

// claims.cc: items of some topics, the largest priority first, then the oldest. Those that somebody else is at are
// passed over.
Alone apply_alone(Connection& connection, const ClaimWork& claim, Instant now);

}  // namespace pawl::store::postgres
