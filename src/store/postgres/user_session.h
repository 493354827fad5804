// UserSession: a session that a worker's own SQL and the store's take turns on.
//
// 1. While it is the worker's turn the session has the settings of its role and database, not the store's, and the
// times of
//    the transaction: the server ends what waits or idles too long.
// 2. The worker cannot commit, not even by the handle: a deferred rule is broken until the store's turn comes. And
// outside of
//    the transaction the session only reads, so one that rolls back by the handle writes nothing after it.
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
                                                   Tail& tail);  // refused by a server that lost commits

  // A transaction begins, and it is the worker's turn.
  Status begin(Duration time);
  Result<SqlRows> execute(std::string_view sql, std::span<const SqlValue> params);
  // Whether the transaction is as a worker must leave it. retry_later: the session is lost, or had to give way to
  // another.
  Status sound() const;
  // It is the store's turn: what the worker left is looked at for the last time. `invalid`: it cannot be committed.
  Status let_store();
  Status roll_back();  // an error: the session is of no more use

  Connection& connection() { return *connection_; }
  PGconn* handle() const { return connection_->handle(); }

 private:
  UserSession(const Address& address, std::unique_ptr<Connection> connection)
      : address_(address), connection_(std::move(connection)) {}
  Status run(const std::string& sql);
  Error error_of(const PGresult* result);

  const Address address_;
  const std::unique_ptr<Connection> connection_;
  bool must_give_way_ = false;  // a deadlock, or two transactions that cannot both be: nobody's mistake
};

}  // namespace pawl::store::postgres
