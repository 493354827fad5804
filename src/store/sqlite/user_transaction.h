// Transactions of workers on the SQLite store. A file has one writer: from begin() until the transaction is over the
// worker has it, between two groups, for at most limits::transaction_time.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>

#include "store/sqlite/limits.h"
#include "store/sqlite/user_session.h"
#include "store/transaction.h"

namespace pawl::store::sqlite {

// What the transactions need from their store.
class TransactionHost {
 public:
  virtual Result<std::unique_ptr<UserSession>> open_session() = 0;
  virtual Status take_writer() = 0;  // no one else writes until any thread gives it back
  virtual void give_writer() = 0;
  // As after every commit: checks that what is acknowledged is where the next process will look for it. REQUIRES: the
  // writer is given back.
  virtual Result<Outcome> settle(const Operation& operation, Writer& writer, Result<Outcome> outcome) = 0;

 protected:
  ~TransactionHost() = default;
};

class Transactions;

class UserTransaction final : public OpenTransaction {
 public:
  UserTransaction(std::shared_ptr<Transactions> home, std::unique_ptr<UserSession> session, UserSession::Time until);
  ~UserTransaction() override { end_unless_over(); }

  using pawl::Transaction::execute;
  Result<SqlRows> execute(std::string_view sql, std::span<const SqlValue> params) override;
  Kind kind() const override { return Kind::sqlite; }
  void* handle() override;

  Status sound() override;
  Result<Outcome> commit(const core::Bundle& bundle) override;
  void roll_back() override { end_unless_over(); }
  void expire() override;
  bool is_over() const override { return over_; }

 private:
  void end_unless_over();
  Status usable() const;  // REQUIRES: mutex_ is held

  const std::shared_ptr<Transactions> home_;
  std::mutex mutex_;                      // guards what is below
  std::unique_ptr<UserSession> session_;  // kept while the worker may have its handle
  std::optional<Error> failed_;           // the first failure of a statement
  std::atomic<bool> over_{false};         // written under mutex_
};

class Transactions final : public TransactionStore, public std::enable_shared_from_this<Transactions> {
 public:
  explicit Transactions(TransactionHost& host) : host_(&host) {}

  Result<std::shared_ptr<OpenTransaction>> begin() override;
  Duration time() const override { return limits::transaction_time; }
  void close();  // the store closes: open transactions are undone, and no new one begins

 private:
  friend class UserTransaction;
  void over(std::unique_ptr<UserSession> reusable);  // others may write again; null: the session cannot be used again
  void keep(std::unique_ptr<UserSession> session);

  std::mutex mutex_;       // guards what is below; taken after that of a transaction
  TransactionHost* host_;  // null: the store is gone
  std::unique_ptr<UserSession> idle_;
  std::weak_ptr<UserTransaction> open_;
};

}  // namespace pawl::store::sqlite
