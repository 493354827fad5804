// The frame of a group: one transaction, what is undone when, and what is said about a failure.
#include <cstdlib>

#include "base/format.h"
#include "store/check_limits.h"
#include "store/sqlite/writer.h"

namespace pawl::store::sqlite {

Applied refused(OutcomeKind kind, std::string reason) {
  Applied applied;
  applied.outcome.kind = kind;
  applied.outcome.reason = std::move(reason);
  return applied;
}

Result<std::unique_ptr<Writer>> Writer::open(std::unique_ptr<Connection> connection,
                                             const Clock& clock, Ownership& ownership) {
  std::unique_ptr<Writer> writer(new Writer(std::move(connection), clock, ownership));
  auto prepared = writer->sql_.prepare(*writer->connection_);
  if (prepared) prepared = writer->duplex_.prepare(*writer->connection_);
  if (!prepared) return prepared.error();
  const auto version = writer->connection_->read_number("PRAGMA user_version");
  if (!version) return version.error();
  writer->version_ = *version;
  return writer;
}

Result<std::vector<Outcome>> Writer::commit(std::span<const Operation> group) {
  if (sync_failure_ != SQLITE_OK)
    return Error{ErrorCode::retry_later,
                 format("{} takes no more writes since a sync of it failed", connection_->path())};
  disk_full_ = false;
  const std::int64_t changes_before = sqlite3_total_changes64(connection_->handle());
  Attempt attempt = apply_group(group, Undo::whole_group);
  if (attempt.again) attempt = apply_group(group, Undo::each);
  if (attempt.code != SQLITE_OK) return abandon(attempt.code);
  if (sql_.commit.run() == Statement::failed)
    return failed_commit(sql_.commit.code(), std::move(attempt.outcomes));
  row_writes_ += sqlite3_total_changes64(connection_->handle()) - changes_before;
  return std::move(attempt.outcomes);
}

// Leaves the transaction open for COMMIT, unless it has to be tried again or failed.
Writer::Attempt Writer::apply_group(std::span<const Operation> group, Undo undo) {
  Attempt attempt;
  lanes_.clear();
  positions_used_ = 0;
  in_doubt_ = undo == Undo::each;
  if (sql_.begin.run() == Statement::failed) {
    attempt.code = sql_.begin.code();
    return attempt;
  }
  {
    Rows rows = sql_.read_commits.query();
    if (rows.next()) commits_ = rows.number(0) + 1;
    if (rows.failed()) attempt.code = rows.rc();
  }
  if (attempt.code == SQLITE_OK) attempt.code = check_version();
  if (attempt.code != SQLITE_OK) return attempt;
  attempt.outcomes.reserve(group.size());
  for (const Operation& operation : group) {
    if (attempt.code != SQLITE_OK) return attempt;
    Applied applied = undo == Undo::each ? apply_in_savepoint(operation) : apply(operation);
    if (applied.code != SQLITE_OK && fault_of(applied.code) != Fault::poison) {
      attempt.code = applied.code;
      return attempt;
    }
    const bool must_undo = applied.code != SQLITE_OK || (applied.wrote && !applied.outcome.done());
    if (must_undo) {
      // Only the first attempt comes here: a savepoint has undone it otherwise.
      attempt.again = true;
      if (sqlite3_get_autocommit(connection_->handle()) == 0 &&
          sql_.rollback.run() == Statement::failed)
        attempt.code = sql_.rollback.code();
      return attempt;
    }
    attempt.outcomes.push_back(std::move(applied.outcome));
  }
  attempt.code = finish_group();
  return attempt;
}

Applied Writer::apply_in_savepoint(const Operation& operation) {
  if (sql_.savepoint.run() == Statement::failed) return failed(sql_.savepoint);
  Applied applied = apply(operation);
  if (applied.code != SQLITE_OK && fault_of(applied.code) != Fault::poison) return applied;
  if (!is_done(applied)) {
    if (applied.code != SQLITE_OK) {
      std::string why = std::move(applied.outcome.reason);
      if (why.empty())
        why = format("SQLite refused it: {}", sqlite3_errmsg(connection_->handle()));
      applied.outcome = refused(OutcomeKind::rejected, std::move(why)).outcome;
    }
    applied.code = SQLITE_OK;
    if (sql_.undo.run() == Statement::failed) return failed(sql_.undo);
    applied.wrote = false;
  }
  if (sql_.release.run() == Statement::failed) return failed(sql_.release);
  return applied;
}

Applied Writer::apply(const Operation& operation) {
  const auto fits = check_limits(operation);
  if (!fits) return refused(OutcomeKind::rejected, fits.error().detail);
  return std::visit([this](const auto& one) { return apply(one); }, operation);
}

int Writer::finish_group() {
  for (auto& [id, lane] : lanes_) {
    if (lane.next_run == lane.next_run_stored) continue;
    if (sql_.put_next_run.run(id, lane.next_run) == Statement::failed)
      return sql_.put_next_run.code();
  }
  if (sql_.count_commit.run(commits_, tag_) == Statement::failed) return sql_.count_commit.code();
  return SQLITE_OK;
}

// A newer program may have become the owner and brought the file forward while this one had it open.
int Writer::check_version() {
  Rows rows = sql_.read_version.query();
  if (rows.next() && rows.number(0) == version_) return SQLITE_OK;
  return rows.failed() ? rows.rc() : SQLITE_SCHEMA;
}

int Writer::mark_home(bool on) {
  return sqlite3_exec(connection_->handle(),
                      on ? "UPDATE store_state SET writer = -abs(writer)"
                         : "UPDATE store_state SET writer = abs(writer)",
                      nullptr, nullptr, nullptr);
}

// Before COMMIT nothing can have become durable, whatever failed.
Error Writer::abandon(int code) {
  if (sqlite3_get_autocommit(connection_->handle()) == 0 &&
      sql_.rollback.run() == Statement::failed &&
      fault_of(sql_.rollback.code()) == Fault::sync_failed)
    code = sql_.rollback.code();
  if (fault_of(code) == Fault::sync_failed) sync_failure_ = code;
  disk_full_ = connection_->is_full(code);
  Error error = connection_->error(code, "write to");
  error.code = ErrorCode::retry_later;
  return error;
}

// COMMIT itself failed. While the transaction is still open it can be rolled back; when it is gone,
// the commit counter tells which way it went: it and the tag are ours only if the commit was, since
// another process may have reached the same number.
Result<std::vector<Outcome>> Writer::failed_commit(int code, std::vector<Outcome> outcomes) {
  if (fault_of(code) == Fault::sync_failed) {
    sync_failure_ = code;
    return Error{ErrorCode::outcome_unknown, connection_->error(code, "sync").detail};
  }
  if (sqlite3_get_autocommit(connection_->handle()) == 0) {
    if (sql_.rollback.run() != Statement::failed) return abandon(code);
  } else {
    Rows rows = sql_.read_commits.query();
    if (rows.next() && !rows.malformed()) {
      // The sign is the checkpointer's mark.
      if (rows.number(0) == commits_ && std::abs(rows.number(1)) == tag_) return outcomes;
      return abandon(code);
    }
  }
  return Error{ErrorCode::outcome_unknown, connection_->error(code, "commit to").detail};
}

}  // namespace pawl::store::sqlite
