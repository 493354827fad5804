#include "store/sqlite/user_transaction.h"

#include <utility>

#include "store/sqlite/user_statement.h"

namespace pawl::store::sqlite {

UserTransaction::UserTransaction(std::shared_ptr<Transactions> home, std::unique_ptr<UserSession> session,
                                 UserSession::Time until)
    : home_(std::move(home)), session_(std::move(session)) {
  session_->let_user(until);
}

Status UserTransaction::usable() const {
  if (failed_) return *failed_;
  if (over_) return Error{ErrorCode::invalid, "the transaction is over: use it only while its worker runs"};
  if (session_->is_late()) return late_transaction();
  return {};
}

Result<SqlRows> UserTransaction::execute(std::string_view sql, std::span<const SqlValue> params) {
  const std::lock_guard lock(mutex_);
  if (const Status may = usable(); !may) return may.error();
  auto rows = session_->execute(sql, params);
  if (!rows) failed_ = rows.error();
  return rows;
}

void* UserTransaction::handle() {
  const std::lock_guard lock(mutex_);
  return session_ == nullptr ? nullptr : session_->handle();
}

Status UserTransaction::sound() {
  const std::lock_guard lock(mutex_);
  return usable();
}

Result<Outcome> UserTransaction::commit(const core::Bundle& bundle) {
  const std::lock_guard lock(mutex_);
  if (const Status may = usable(); !may) {
    if (!over_) {
      session_->let_store();
      session_->writer().undo_open();
      over_ = true;
      home_->over(nullptr);
    }
    return Error{ErrorCode::invalid, may.error().detail};
  }
  session_->let_store();
  const Operation operation = bundle;
  auto outcome = session_->writer().commit_open(operation);
  over_ = true;
  // Its worker has returned: the session can be used again.
  TransactionHost* host = home_->host_;
  host->give_writer();
  auto settled = host->settle(operation, session_->writer(), std::move(outcome));
  home_->keep(std::move(session_));
  return settled;
}

void UserTransaction::end_unless_over() {
  const std::lock_guard lock(mutex_);
  if (over_) return;
  session_->let_store();
  session_->writer().undo_open();
  over_ = true;
  home_->over(std::move(session_));
}

void UserTransaction::expire() {
  const std::lock_guard lock(mutex_);
  if (over_) return;
  session_->shut();
  failed_ = late_transaction();
  over_ = true;
  home_->over(nullptr);
}

Result<std::shared_ptr<OpenTransaction>> Transactions::begin() {
  std::unique_ptr<UserSession> session;
  TransactionHost* host = nullptr;
  {
    const std::lock_guard lock(mutex_);
    host = host_;
    session = std::move(idle_);
  }
  if (host == nullptr) return Error{ErrorCode::fenced, "the store is closed"};
  if (session == nullptr) {
    auto opened = host->open_session();
    if (!opened) return opened.error();
    session = std::move(*opened);
  }
  if (const Status taken = host->take_writer(); !taken) return taken.error();
  session->let_store();
  if (const Status open = session->writer().open(); !open) {
    host->give_writer();
    return open.error();
  }
  const auto until = std::chrono::steady_clock::now() + limits::transaction_time;
  auto transaction = std::make_shared<UserTransaction>(shared_from_this(), std::move(session), until);
  const std::lock_guard lock(mutex_);
  open_ = transaction;
  return std::shared_ptr<OpenTransaction>(std::move(transaction));
}

void Transactions::keep(std::unique_ptr<UserSession> session) {
  if (session == nullptr || !session->is_clean()) return;
  session->let_nobody();
  const std::lock_guard lock(mutex_);
  if (host_ != nullptr) idle_ = std::move(session);
}

void Transactions::over(std::unique_ptr<UserSession> session) {
  TransactionHost* host = nullptr;
  {
    const std::lock_guard lock(mutex_);
    host = host_;
  }
  if (host != nullptr) host->give_writer();
  keep(std::move(session));
}

void Transactions::close() {
  std::shared_ptr<UserTransaction> open;
  {
    const std::lock_guard lock(mutex_);
    open = open_.lock();
  }
  if (open != nullptr) open->expire();
  const std::lock_guard lock(mutex_);
  host_ = nullptr;
  idle_.reset();
}

}  // namespace pawl::store::sqlite
