#include "store/postgres/user_transaction.h"

#include <utility>

#include "base/format.h"
#include "store/postgres/limits.h"

namespace pawl::store::postgres {

UserTransaction::UserTransaction(std::shared_ptr<Transactions> home, std::unique_ptr<UserSession> session)
    : home_(std::move(home)), until_(std::chrono::steady_clock::now() + home_->time()), session_(std::move(session)) {}

Status UserTransaction::usable() const {
  if (failed_) return *failed_;
  if (over_) return Error{ErrorCode::invalid, "the transaction is over: use it only while its worker runs"};
  if (!expired_ && std::chrono::steady_clock::now() < until_) return {};
  return Error{
      ErrorCode::invalid,
      format("the transaction took longer than {} ms, half of RuntimeOptions::lease, so it was undone: do what takes "
             "long in a worker of its own",
             home_->time().count() / 1000)};
}

Result<SqlRows> UserTransaction::execute(std::string_view sql, std::span<const SqlValue> params) {
  if (const Status may = usable(); !may) return may.error();
  auto rows = session_->execute(sql, params);
  if (!rows) failed_ = rows.error();
  return rows;
}

Status UserTransaction::sound() {
  if (session_ != nullptr)
    if (const Status left = session_->sound(); !left && left.error().code == ErrorCode::retry_later) return left;
  if (const Status may = usable(); !may) return Error{ErrorCode::invalid, may.error().detail};
  return session_->sound();
}

Result<Outcome> UserTransaction::commit(const core::Bundle& bundle) {
  Status ready = sound();
  if (ready) ready = session_->let_store();
  over_ = true;
  if (!ready) {
    session_.reset();
    return ready.error();
  }
  const Operation operation = bundle;
  auto outcome = Writer(session_->connection(), home_->parts_).commit_open(operation);
  if (session_->roll_back()) home_->keep(std::move(session_));
  session_.reset();
  return outcome;
}

void UserTransaction::roll_back() {
  if (over_.exchange(true)) return;
  if (session_->roll_back()) home_->keep(std::move(session_));
  session_.reset();
}

Result<std::shared_ptr<OpenTransaction>> Transactions::begin() {
  Status begun = Error{ErrorCode::retry_later, ""};
  std::unique_ptr<UserSession> session;
  // The server may have ended a kept session since.
  while ((session = take()) != nullptr) {
    begun = session->begin(time_);
    if (begun) break;
  }
  if (session == nullptr) {
    auto opened = UserSession::open(address_, parts_.tail);
    if (!opened) return opened.error();
    session = std::move(*opened);
    begun = session->begin(time_);
  }
  if (!begun) return begun.error();
  return std::shared_ptr<OpenTransaction>(std::make_shared<UserTransaction>(shared_from_this(), std::move(session)));
}

std::unique_ptr<UserSession> Transactions::take() {
  const std::lock_guard lock(mutex_);
  if (idle_.empty()) return nullptr;
  std::unique_ptr<UserSession> session = std::move(idle_.back());
  idle_.pop_back();
  return session;
}

void Transactions::keep(std::unique_ptr<UserSession> session) {
  const std::lock_guard lock(mutex_);
  if (idle_.size() < limits::transaction_sessions_kept) idle_.push_back(std::move(session));
}

}  // namespace pawl::store::postgres
