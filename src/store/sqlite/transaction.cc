// What surrounds a group, and the errors of a failure.
#include "store/sqlite/transaction.h"

#include <unistd.h>

#include <cstdlib>
#include <thread>

#include "base/format.h"
#include "base/random.h"
#include "store/sqlite/limits.h"
#include "store/sqlite/prepared.h"

namespace pawl::store::sqlite {

namespace {

std::int64_t tag_of_writer(const Clock& clock) {
  const auto now = static_cast<std::uint64_t>(clock.now().micros());
  return static_cast<std::int64_t>(Random::mix(now ^ (static_cast<std::uint64_t>(getpid()) << 44)) >> 1);
}

}  // namespace

Transaction::Transaction(std::unique_ptr<Connection> connection, const Clock& clock)
    : connection_(std::move(connection)), tag_(tag_of_writer(clock)) {}

Status Transaction::prepare() {
  const auto version = connection_->read_number("PRAGMA user_version");
  if (!version) return version.error();
  version_ = *version;
  return prepare_each(*connection_,
                      {
                          {&begin_, "BEGIN IMMEDIATE"},
                          {&commit_, "COMMIT"},
                          {&rollback_, "ROLLBACK"},
                          {&savepoint_, "SAVEPOINT operation"},
                          {&release_, "RELEASE operation"},
                          {&undo_, "ROLLBACK TO operation"},
                          {&count_commit_, "UPDATE store_state SET commits = ?1, writer = ?2 WHERE id = 1"},
                          {&read_commits_, "SELECT commits, writer, unlisted_from FROM store_state WHERE id = 1"},
                          {&read_version_, "PRAGMA user_version"},
                      });
}

Status Transaction::may_write() {
  if (sync_failure_ != SQLITE_OK)
    return Error{ErrorCode::retry_later,
                 format("{} takes no more writes since a sync of it failed", connection_->path())};
  disk_full_ = false;
  return {};
}

int Transaction::begin() {
  positions_used_ = 0;
  if (begin_.run() == Statement::failed) return begin_.code();
  {
    Rows rows = read_commits_.query();
    if (rows.next()) {
      number_ = rows.number(0) + 1;
      unlisted_from_ = rows.number(2);
    }
    if (rows.failed()) return rows.rc();
  }
  return check_version();
}

int Transaction::roll_back() {
  if (sqlite3_get_autocommit(connection_->handle()) != 0) return SQLITE_OK;
  return rollback_.run() == Statement::failed ? rollback_.code() : SQLITE_OK;
}

// A newer program may have become the owner and migrated the file while this one had it open.
int Transaction::check_version() {
  Rows rows = read_version_.query();
  if (rows.next() && rows.number(0) == version_) return SQLITE_OK;
  return rows.failed() ? rows.rc() : SQLITE_SCHEMA;
}

std::string Transaction::last_message() const {
  return format("SQLite refused it: {}", sqlite3_errmsg(connection_->handle()));
}

Status Transaction::finish_commit(std::int64_t changes_before) {
  // An error that nobody looked at may have ended the transaction. Then nothing of it is reported as committed.
  if (sqlite3_get_autocommit(connection_->handle()) != 0) return abandon(SQLITE_ABORT_ROLLBACK);
  if (commit_.run() == Statement::failed) return failed_commit(commit_.code());
  row_writes_ += sqlite3_total_changes64(connection_->handle()) - changes_before;
  return {};
}

Status Transaction::open() {
  if (const auto may = may_write(); !may) return may.error();
  reads_ = {};
  in_doubt_ = true;  // there is no second try: all checks run at once
  opened_at_ = sqlite3_total_changes64(connection_->handle());
  if (const int code = begin(); code != SQLITE_OK) return abandon(code);
  return {};
}

// A rule that is checked last, such as a deferred foreign key, can only be broken by the worker's statements.
Status Transaction::finish_open() {
  const auto made = finish_commit(opened_at_);
  const bool broken =
      !made && made.error().code == ErrorCode::retry_later && (commit_.code() & 0xff) == SQLITE_CONSTRAINT;
  if (!broken) return made;
  return Error{ErrorCode::invalid,
               "SQLite refused to commit it: a rule of your tables does not hold at its end (a deferred foreign key)"};
}

bool Transaction::try_again(Reads& reads, int code, std::size_t index) {
  if (fault_of(code) != Fault::unreadable || connection_->is_full(code)) return false;
  const Error error = connection_->error(code, "read");
  if (roll_back() != SQLITE_OK) return false;
  if (reads.tries < limits::read_tries) {  // it may pass
    std::this_thread::sleep_for(limits::read_retry_min * (1 << (reads.tries - 1)));
    ++reads.tries;
    return true;
  }
  if (reads.refused.size() == limits::unreadable_per_group_max || !connection_->answers()) return false;
  reads.refused.push_back({index, error.detail});
  reads.tries = 1;
  return true;
}

const std::string* Transaction::refusal_of(std::size_t index) const {
  for (const Unreadable& one : reads_.refused)
    if (one.index == index) return &one.reason;
  return nullptr;
}

// Before COMMIT nothing can have become durable, whatever failed.
Error Transaction::abandon(int code) {
  const int undone = roll_back();
  if (undone != SQLITE_OK && fault_of(undone) == Fault::sync_failed) code = undone;
  if (fault_of(code) == Fault::sync_failed) sync_failure_ = code;
  disk_full_ = connection_->is_full(code);
  Error error = connection_->error(code, "write to");
  error.code = ErrorCode::retry_later;
  return error;
}

// COMMIT itself failed; an OK result means that it was made nevertheless. While the transaction is still open it can be
// rolled back. When it is gone, the commit counter and the tag show what happened: both match only if this commit was
// made, since another process may have reached the same number.
Status Transaction::failed_commit(int code) {
  if (fault_of(code) == Fault::sync_failed) {
    sync_failure_ = code;
    return Error{ErrorCode::outcome_unknown, connection_->error(code, "sync").detail};
  }
  if (sqlite3_get_autocommit(connection_->handle()) == 0) {
    if (rollback_.run() != Statement::failed) return abandon(code);
  } else {
    Rows rows = read_commits_.query();
    if (rows.next() && !rows.malformed()) {
      // The sign is the checkpointer's mark.
      if (rows.number(0) == number_ && std::abs(rows.number(1)) == tag_) return {};
      return abandon(code);
    }
  }
  return Error{ErrorCode::outcome_unknown, connection_->error(code, "commit to").detail};
}

}  // namespace pawl::store::sqlite
