// UserSession: a session that a worker's own SQL and the store's SQL use in turn.
//
// 1. During the worker's turn the session has the settings of its role and database, not the store's, and the time
//    limits of the transaction: the server ends what waits or idles too long.
// 2. The worker cannot commit, not even through the libpq handle: a deferred constraint is violated until the store's
//    turn. Outside of the transaction the session only reads, so a worker that rolls back through the handle writes
//    nothing after it.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "pawl/time.h"
#include "pawl/transaction.h"
#include "store/postgres/connection.h"
#include "store/postgres/tail.h"

namespace pawl::store::postgres {

class UserSession {
 public:
  static Result<std::unique_ptr<UserSession>> open(const Address& address,
                                                   Tail& tail);  // refuses a server that lost commits

  // Begins a transaction and the worker's turn.
  Status begin(Duration time);
  Result<SqlRows> execute(std::string_view sql, std::span<const SqlValue> params);
  // Checks that the worker left the transaction open and intact. retry_later: the session is lost, or the server ended
  // it in favour of another transaction.
  Status sound() const;
  // Begins the store's turn and checks for the last time what the worker left. `invalid`: it cannot be committed.
  Status let_store();
  Status roll_back();  // an error: the session must not be used again

  Connection& connection() { return *connection_; }
  PGconn* handle() const { return connection_->handle(); }

 private:
  UserSession(const Address& address, std::unique_ptr<Connection> connection)
      : address_(address), connection_(std::move(connection)) {}
  Status run(const std::string& sql);
  void read_last_word() const;
  Error error_of(const PGresult* result);

  const Address address_;
  const std::unique_ptr<Connection> connection_;
  bool must_give_way_ = false;  // a deadlock or a serialization conflict: not a mistake of the worker
};

}  // namespace pawl::store::postgres
