// Transaction: owns the transaction of the current group and its result: committed, undone or in doubt.
//
// 1. A group is first applied without savepoints, because most groups contain nothing that is refused after its first
//    write. If something is, the transaction is rolled back and the group is applied again with a savepoint around each
//    operation: a refused one is undone alone, at a cost that is linear in the group.
// 2. An operation whose page the disk does not return is refused alone as well, if this persists while the rest of the
//    disk works. SQLite ends the transaction at such an error, with or without savepoints, so the group is applied
//    again without that operation. If the others are written and synced, the disk works; if not, the group waits and
//    nothing is refused.
// 3. Commits are numbered without gaps, over all processes.
// One thread at a time (Store::commit's rule).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "pawl/result.h"
#include "store/sqlite/applied.h"
#include "store/sqlite/connection.h"
#include "store/sqlite/statement.h"

namespace pawl::store::sqlite {

class Transaction {
 public:
  Transaction(std::unique_ptr<Connection> connection, const Clock& clock);
  Status prepare();

  // Applies a whole group and commits it. `apply` answers one operation; it may be called twice, each time after
  // `forget`, which drops what is known from a transaction that is gone. `finish` makes the last writes and returns a
  // result code.
  template <class Answer, class Any, class Forget, class Apply, class Finish>
  Result<std::vector<Answer>> commit(std::span<const Any> group, const Forget& forget, const Apply& apply,
                                     const Finish& finish);

  // A transaction in which a worker's statements come before the one operation that is committed with them. A refusal
  // undoes all of it. The error `invalid`: the worker's statements cannot be committed.
  Status open();
  template <class Answer, class Any, class Apply, class Finish>
  Result<Answer> commit_open(const Any& operation, const Apply& apply, const Finish& finish);
  void undo_open() { static_cast<void>(roll_back()); }

  Connection& connection() { return *connection_; }
  std::int64_t number() const { return number_; }  // of this commit, or of the last one
  // Part of the group was refused after its first write: now each operation is undone alone.
  bool in_doubt() const { return in_doubt_; }
  // Items keep their order of arrival: the number of the commit, then the place within it.
  std::int64_t next_position() { return number_ << position_bits | positions_used_++; }

  // From which row of activities on there may be work that is not listed (work_list.h).
  std::int64_t unlisted_from() const { return unlisted_from_; }
  void unlisted_moved(std::int64_t to) { unlisted_from_ = to; }

  std::int64_t row_writes() const { return row_writes_; }
  int sync_failure() const { return sync_failure_; }  // once a sync failed: the process must end
  bool disk_full() const { return disk_full_; }       // the last group failed for lack of room

 private:
  static constexpr int position_bits = 24;
  enum class Undo : std::uint8_t { whole_group, each };
  template <class Answer>
  struct Attempt {
    int code = SQLITE_OK;
    bool again = false;                      // refused after its first write: apply each operation by itself
    std::optional<std::size_t> failed_at{};  // the operation that could not be applied
    std::vector<Answer> outcomes;
  };

  // An operation of the group that is refused without being applied.
  struct Unreadable {
    std::size_t index = 0;
    std::string reason;
  };
  // For one group: how often a page could not be read, and what was refused because of it.
  struct Reads {
    int tries = 1;
    std::vector<Unreadable> refused;
  };
  // Whether the group may be applied again after this failure, perhaps without the operation at `index`.
  bool try_again(Reads& reads, int code, std::size_t index);
  const std::string* refusal_of(std::size_t index) const;

  // Leaves the transaction open for COMMIT, unless it failed or must be tried again.
  template <class Answer, class Any, class Apply, class Finish>
  Attempt<Answer> apply_group(std::span<const Any> group, Undo undo, const Apply& apply, const Finish& finish);
  template <class Answer, class Any, class Apply>
  AppliedAs<Answer> apply_in_savepoint(const Any& operation, const Apply& apply);
  Status may_write();
  int begin();
  int roll_back();
  int check_version();
  std::string last_message() const;
  Status finish_commit(std::int64_t changes_before);
  Status finish_open();
  Error abandon(int code);
  Status failed_commit(int code);

  const std::unique_ptr<Connection> connection_;
  const std::int64_t tag_;  // tells this writer's commits from those of other processes
  Statement begin_, commit_, rollback_, savepoint_, release_, undo_, count_commit_, read_commits_, read_version_;
  std::int64_t version_ = 0;  // of the file, when it was opened

  // Of the open transaction.
  std::int64_t number_ = 0;
  std::int64_t positions_used_ = 0;
  std::int64_t unlisted_from_ = 0;
  bool in_doubt_ = false;
  Reads reads_;
  std::int64_t opened_at_ = 0;  // number of changes when open() began

  std::int64_t row_writes_ = 0;
  int sync_failure_ = SQLITE_OK;
  bool disk_full_ = false;
};

template <class Answer, class Any, class Forget, class Apply, class Finish>
Result<std::vector<Answer>> Transaction::commit(std::span<const Any> group, const Forget& forget, const Apply& apply,
                                                const Finish& finish) {
  if (const auto may = may_write(); !may) return may.error();
  const std::int64_t changes_before = sqlite3_total_changes64(connection_->handle());
  reads_ = {};
  Attempt<Answer> attempt;
  do {
    forget();
    attempt = apply_group<Answer>(group, Undo::whole_group, apply, finish);
    if (attempt.again) {
      forget();
      attempt = apply_group<Answer>(group, Undo::each, apply, finish);
    }
  } while (attempt.failed_at && try_again(reads_, attempt.code, *attempt.failed_at));
  if (attempt.code != SQLITE_OK) return abandon(attempt.code);
  if (const auto made = finish_commit(changes_before); !made) return made.error();
  return std::move(attempt.outcomes);
}

template <class Answer, class Any, class Apply, class Finish>
Transaction::Attempt<Answer> Transaction::apply_group(std::span<const Any> group, Undo undo, const Apply& apply,
                                                      const Finish& finish) {
  Attempt<Answer> attempt;
  in_doubt_ = undo == Undo::each;
  attempt.code = begin();
  if (attempt.code != SQLITE_OK) return attempt;
  attempt.outcomes.reserve(group.size());
  for (std::size_t i = 0; i < group.size(); ++i) {
    if (const std::string* why = refusal_of(i)) {
      Answer& answer = attempt.outcomes.emplace_back();
      answer.kind = OutcomeKind::rejected;
      answer.reason = *why;
      continue;
    }
    AppliedAs<Answer> applied = undo == Undo::each ? apply_in_savepoint<Answer>(group[i], apply) : apply(group[i]);
    if (applied.code != SQLITE_OK && fault_of(applied.code) != Fault::poison) {
      attempt.code = applied.code;
      attempt.failed_at = i;
      return attempt;
    }
    const bool must_undo = applied.code != SQLITE_OK || (applied.wrote && !applied.outcome.done());
    if (must_undo) {
      // Only the first try comes here; later a savepoint undoes it.
      attempt.again = true;
      attempt.code = roll_back();
      return attempt;
    }
    attempt.outcomes.push_back(std::move(applied.outcome));
  }
  attempt.code = finish();
  if (undo == Undo::whole_group && attempt.code != SQLITE_OK && fault_of(attempt.code) == Fault::poison) {
    attempt.again = true;  // it was put off for one of the operations: that one is refused alone
    attempt.code = roll_back();
    return attempt;
  }
  if (attempt.code == SQLITE_OK && count_commit_.run(number_, tag_) == Statement::failed)
    attempt.code = count_commit_.code();
  return attempt;
}

template <class Answer, class Any, class Apply, class Finish>
Result<Answer> Transaction::commit_open(const Any& operation, const Apply& apply, const Finish& finish) {
  AppliedAs<Answer> applied = apply(operation);
  if (applied.code != SQLITE_OK && fault_of(applied.code) != Fault::poison) return abandon(applied.code);
  if (applied.code != SQLITE_OK) {
    Answer rejected;
    rejected.kind = OutcomeKind::rejected;
    rejected.reason = applied.outcome.reason.empty() ? last_message() : applied.outcome.reason;
    applied.outcome = std::move(rejected);
  }
  // An already_done operation was committed earlier with its own statements; the statements here are undone.
  if (applied.outcome.kind != OutcomeKind::committed) {
    if (const int code = roll_back(); code != SQLITE_OK) return abandon(code);
    return std::move(applied.outcome);
  }
  int code = finish();
  if (code == SQLITE_OK && count_commit_.run(number_, tag_) == Statement::failed) code = count_commit_.code();
  if (code != SQLITE_OK) return abandon(code);
  if (const auto made = finish_open(); !made) return made.error();
  return std::move(applied.outcome);
}

template <class Answer, class Any, class Apply>
AppliedAs<Answer> Transaction::apply_in_savepoint(const Any& operation, const Apply& apply) {
  const auto failed_at = [](const Statement& statement) { return AppliedAs<Answer>{statement.code(), false, {}}; };
  if (savepoint_.run() == Statement::failed) return failed_at(savepoint_);
  AppliedAs<Answer> applied = apply(operation);
  if (applied.code != SQLITE_OK && fault_of(applied.code) != Fault::poison) return applied;
  if (!is_done(applied)) {
    if (applied.code != SQLITE_OK) {
      std::string why = std::move(applied.outcome.reason);
      if (why.empty()) why = last_message();
      applied.outcome = Answer{};
      applied.outcome.kind = OutcomeKind::rejected;
      applied.outcome.reason = std::move(why);
    }
    applied.code = SQLITE_OK;
    if (undo_.run() == Statement::failed) return failed_at(undo_);
    applied.wrote = false;
  }
  if (release_.run() == Statement::failed) return failed_at(release_);
  return applied;
}

}  // namespace pawl::store::sqlite
