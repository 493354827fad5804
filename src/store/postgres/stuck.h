// Sessions of a node that stands still in the middle of a transaction. Between two scripts the server ends them by
// itself (idle_in_transaction_session_timeout); inside of one, when a part of it was sent, no timeout of the server
// runs. Whoever waited for a lock in vain ends those that keep their client's lanes and have not heard from it for as
// long.
#pragma once

#include <chrono>

#include "store/postgres/connection.h"

namespace pawl::store::postgres {

// Whether the server gave up waiting for a lock.
bool is_lock_timeout(const Failure& failure);
// Best effort: sessions of another role are left alone. REQUIRES: outside of a transaction.
void end_stuck_sessions(Connection& connection, std::chrono::milliseconds silent_for);

}  // namespace pawl::store::postgres
