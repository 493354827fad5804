// Sessions of a node that hangs in the middle of a transaction. Between two scripts the server ends them by itself
// (idle_in_transaction_session_timeout). Inside of a script, when only a part of it was sent, no timeout of the server
// runs. So a store whose wait for a lock timed out ends the sessions that lock lanes and have received nothing from
// their client for as long.
#pragma once

#include <chrono>

#include "store/postgres/connection.h"

namespace pawl::store::postgres {

// Whether the server stopped waiting for a lock.
bool is_lock_timeout(const Failure& failure);
// Best effort: it does not end sessions of another role. REQUIRES: outside of a transaction.
void end_stuck_sessions(Connection& connection, std::chrono::milliseconds silent_for);

}  // namespace pawl::store::postgres
