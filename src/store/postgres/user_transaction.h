// Transactions of workers on the PostgreSQL store: each on its own session, beside all groups. Timeouts of the server
// end a transaction that waits or idles too long, so the store need not.
#pragma once

#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "store/postgres/user_session.h"
#include "store/postgres/writer.h"
#include "store/transaction.h"

namespace pawl::store::postgres {

class Transactions;

class UserTransaction final : public OpenTransaction {
 public:
  UserTransaction(std::shared_ptr<Transactions> home, std::unique_ptr<UserSession> session);
  ~UserTransaction() override = default;  // closing the session rolls back an open transaction

  using pawl::Transaction::execute;
  Result<SqlRows> execute(std::string_view sql, std::span<const SqlValue> params) override;
  Kind kind() const override { return Kind::postgres; }
  void* handle() override { return session_ == nullptr ? nullptr : session_->handle(); }

  Status sound() override;
  Result<Outcome> commit(const core::Bundle& bundle) override;
  void roll_back() override;
  void expire() override { expired_ = true; }  // the server rolls it back
  bool is_over() const override { return over_; }

 private:
  Status usable() const;

  const std::shared_ptr<Transactions> home_;
  const std::chrono::steady_clock::time_point until_;
  std::unique_ptr<UserSession> session_;
  std::optional<Error> failed_;  // the first statement that failed
  std::atomic<bool> over_{false};
  std::atomic<bool> expired_{false};
};

class Transactions final : public TransactionStore, public std::enable_shared_from_this<Transactions> {
 public:
  // begin() and commit() use what `parts` refers to, as long as the store exists.
  Transactions(Address address, Duration time, const Writer::Parts& parts)
      : address_(std::move(address)), time_(time), parts_(parts) {}

  Result<std::shared_ptr<OpenTransaction>> begin() override;
  Duration time() const override { return time_; }

 private:
  friend class UserTransaction;
  void keep(std::unique_ptr<UserSession> session);  // for the next transaction
  std::unique_ptr<UserSession> take();

  const Address address_;
  const Duration time_;
  const Writer::Parts parts_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<UserSession>> idle_;  // guarded by mutex_
};

}  // namespace pawl::store::postgres
