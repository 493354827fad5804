#include "store/sqlite/user_session.h"

#include "base/format.h"
#include "base/limits.h"
#include "store/sqlite/limits.h"
#include "store/sqlite/user_statement.h"

namespace pawl::store::sqlite {

namespace {

std::string_view text_of(const char* text) { return text == nullptr ? std::string_view() : std::string_view(text); }

}  // namespace

UserSession::UserSession(std::unique_ptr<Writer> writer, std::shared_ptr<const OwnNames> names)
    : writer_(std::move(writer)), names_(std::move(names)) {
  // Only once: setting it again would make SQLite prepare every statement of the store again.
  sqlite3_set_authorizer(handle(), authorize, this);
  sqlite3_progress_handler(handle(), limits::transaction_look_steps, look_at_time, this);
}

UserSession::~UserSession() {
  sqlite3_set_authorizer(handle(), nullptr, nullptr);
  sqlite3_progress_handler(handle(), 0, nullptr, nullptr);
}

void UserSession::let_user(Time until) {
  until_ = until;
  turn_ = Turn::user;
}

void UserSession::let_store() { turn_ = Turn::store; }

void UserSession::shut() {
  shutter_ = std::this_thread::get_id();  // anything that another thread runs is ended
  turn_ = Turn::store;
  writer_->undo_open();
  // Statements that were prepared before are not authorized again: they can only read.
  static_cast<void>(writer_->connection().execute("PRAGMA query_only = ON"));
  turn_ = Turn::nobody;
}

bool UserSession::is_clean() const {
  for (sqlite3_stmt* one = sqlite3_next_stmt(handle(), nullptr); one != nullptr; one = sqlite3_next_stmt(handle(), one))
    if (sqlite3_stmt_busy(one) != 0) return false;
  return true;
}

int UserSession::look_at_time(void* self) {
  const auto& session = *static_cast<const UserSession*>(self);
  const std::thread::id shutter = session.shutter_;
  if (shutter != std::thread::id()) return shutter == std::this_thread::get_id() ? 0 : 1;
  return session.turn_ == Turn::user && session.is_late() ? 1 : 0;
}

int UserSession::authorize(void* self, int action, const char* first, const char* second, const char*,
                           const char* inner) {
  auto& session = *static_cast<UserSession*>(self);
  switch (session.turn_) {
    case Turn::store:
      return SQLITE_OK;
    case Turn::nobody:
      return SQLITE_DENY;
    case Turn::user:
      break;
  }
  return session.is_refused(action, text_of(first), text_of(second), text_of(inner)) ? SQLITE_DENY : SQLITE_OK;
}

bool UserSession::is_refused(int action, std::string_view first, std::string_view second, std::string_view inner) {
  const auto refuse = [this](std::string why) { return refusal_ = std::move(why), true; };
  const auto refuse_own = [&](std::string_view name) {
    return names_->has(name) &&
           refuse(format("{} is the store's own; read its views, and write to tables of yours", name));
  };
  switch (action) {
    case SQLITE_TRANSACTION:
    case SQLITE_SAVEPOINT:
      return refuse(format("{} is refused: the transaction is the store's, and ends when the worker returns", first));
    case SQLITE_ATTACH:
    case SQLITE_DETACH:
      return refuse("ATTACH and DETACH are refused: only this file is in the transaction");
    case SQLITE_PRAGMA:
      return refuse(format("PRAGMA {} is refused: the settings are the store's", first));
    // Everyone may read the views. A read of a table without a column reads nothing: SQLite turns a view's join into
    // such reads.
    case SQLITE_READ:
      return !second.empty() && names_->has_table(first) && !names_->has_view(inner) && refuse_own(first);
    case SQLITE_INSERT:
    case SQLITE_UPDATE:
    case SQLITE_DELETE:
    case SQLITE_DROP_TABLE:
    case SQLITE_DROP_VIEW:
    case SQLITE_ANALYZE:
    case SQLITE_CREATE_TEMP_TABLE:  // it would hide the store's own table
    case SQLITE_CREATE_TEMP_VIEW:
      return refuse_own(first);
    case SQLITE_ALTER_TABLE:
    case SQLITE_CREATE_INDEX:
    case SQLITE_CREATE_TEMP_INDEX:
    case SQLITE_CREATE_TRIGGER:
    case SQLITE_CREATE_TEMP_TRIGGER:
    case SQLITE_DROP_INDEX:
    case SQLITE_DROP_TRIGGER:
      return refuse_own(second);
    default:
      return false;
  }
}

Error UserSession::error_of(int code, const char* doing) {
  if ((code & 0xff) == SQLITE_INTERRUPT || is_late()) return late_transaction();
  if ((code & 0xff) == SQLITE_AUTH && !refusal_.empty()) return {ErrorCode::invalid, std::exchange(refusal_, {})};
  return {ErrorCode::invalid, format("SQLite could not {} it: {} ({})", doing, sqlite3_errmsg(handle()), code)};
}

Result<SqlRows> UserSession::execute(std::string_view sql, std::span<const SqlValue> params) {
  UserStatement statement;
  const int prepared = statement.prepare(handle(), sql);
  if (prepared != SQLITE_OK) return error_of(prepared, "prepare");
  if (const auto whole = statement.is_one(); !whole) return whole.error();
  if (const auto bound = statement.bind(params); !bound) return bound.error();
  SqlRows rows;
  const Status done = statement.run(rows);
  if (done) return rows;
  return done.error().code == ErrorCode::over_limit ? done.error() : error_of(statement.code(), "execute");
}

Error late_transaction() {
  return {ErrorCode::invalid,
          format("the transaction took longer than {} ms (transaction_time), so it was undone: others wait for it "
                 "in a file, so do what takes long in a worker of its own",
                 limits::transaction_time.count())};
}

}  // namespace pawl::store::sqlite
