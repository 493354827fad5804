#include "store/sqlite/work_list.h"

#include <algorithm>

#include "store/sqlite/prepared.h"

namespace pawl::store::sqlite {

namespace {

#define PAWL_LISTED                                                                                                \
  "INSERT OR REPLACE INTO work_list (run, seq, topic, priority, position, token, epoch, lease_until, visible_at,"  \
  " held, once, wake_at) SELECT run, seq, topic, priority, position, token, epoch, lease_until, visible_at, held," \
  " once, wake_at FROM activities"

static_assert(limits::unlisted_rows_step % limits::unlisted_rows_piece == 0, "a block is whole pieces");

}  // namespace

bool is_quiet(const core::WorkItem& item, Instant wake_at) {
  return item.token != core::WorkToken(0) && item.epoch != core::Epoch(0) && wake_at == Instant();
}

Status WorkList::prepare(Connection& connection) {
  return prepare_each(
      connection,
      {
          {&put_, PAWL_LISTED " WHERE run = ?1 AND seq = ?2 AND request IS NOT NULL AND unlisted = 0"},
          {&enlist_, "UPDATE activities SET unlisted = 0 WHERE run = ?1 AND seq = ?2"},
          {&list_rows_, PAWL_LISTED " WHERE id >= ?1 AND id < ?2 AND unlisted = 1 AND request IS NOT NULL"},
          {&unlist_none_, "UPDATE activities SET unlisted = 0 WHERE id >= ?1 AND id < ?2 AND unlisted = 1"},
          {&drop_, "DELETE FROM work_list WHERE run = ?1 AND seq = ?2 AND (?3 IS NULL OR token = ?3)"},
          {&sweep_, "DELETE FROM work_list WHERE run = ?1"},
          {&hold_, "UPDATE work_list SET held = 1, wake_at = 0 WHERE run = ?1"},
          {&read_mark_, "SELECT unlisted_from FROM store_state WHERE id = 1"},
          {&move_mark_, "UPDATE store_state SET unlisted_from = ?1 WHERE id = 1"},
          {&last_row_, "SELECT coalesce(max(id), 0) FROM activities"},
      });
}

#undef PAWL_LISTED

Applied WorkList::put_quiet(RunId run, core::ActivitySeq activity, std::int64_t row) {
  if (row >= transaction_.unlisted_from()) return {};
  // Its number was given before: rows were removed, and the mark did not follow.
  if (enlist_.run(run, activity) == Statement::failed) return failed(enlist_);
  return put(run, activity);
}

Applied WorkList::put(RunId run, core::ActivitySeq activity) {
  if (put_.run(run, activity) == Statement::failed) return failed(put_);
  return {};
}

Checked WorkList::drop(RunId run, core::ActivitySeq activity, const std::optional<core::WorkToken>& token) {
  const int dropped = drop_.run(run, activity, token);
  if (dropped == Statement::failed) return {false, failed(drop_)};
  return {dropped == 1};
}

Applied WorkList::sweep(RunId run) {
  if (sweep_.run(run) == Statement::failed) return failed(sweep_);
  return {};
}

Applied WorkList::hold(RunId run) {
  if (hold_.run(run) == Statement::failed) return failed(hold_);
  return {};
}

// Lists what is open in the rows from `from` up to `until`, and moves the mark there. Rows on a page that cannot be
// read stay behind the mark. The group fails for them once to learn of their block, and once for each piece of the
// block that has some; then it goes on without those pieces.
int WorkList::list(std::int64_t from, std::int64_t until) {
  std::int64_t mark = until;
  for (std::int64_t end = 0; from < until; from = end) {
    const std::int64_t block = from / limits::unlisted_rows_step;
    const bool in_pieces = in_pieces_.contains(block);
    const std::int64_t rows = in_pieces ? limits::unlisted_rows_piece : limits::unlisted_rows_step;
    const std::int64_t part = from / rows;
    end = std::min(until, (part + 1) * rows);
    if (in_pieces && unreadable_.contains(part)) {
      mark = std::min(mark, from);
      continue;
    }
    int code = SQLITE_OK;
    const int listed = list_rows_.run(from, end);
    if (listed == Statement::failed)
      code = list_rows_.code();
    else if (listed > 0 && unlist_none_.run(from, end) == Statement::failed)
      code = unlist_none_.code();
    if (code == SQLITE_OK) continue;
    if (fault_of(code) == Fault::poison || fault_of(code) == Fault::unreadable)
      (in_pieces ? unreadable_ : in_pieces_).insert(part);
    return code;
  }
  if (!unreadable_.empty()) mark = std::min(mark, *unreadable_.begin() * limits::unlisted_rows_piece);
  const std::int64_t before = read(read_mark_);
  if (mark <= before) return code_;
  if (move_mark_.run(mark) == Statement::failed) return move_mark_.code();
  transaction_.unlisted_moved(mark);
  return SQLITE_OK;
}

std::int64_t WorkList::read(Statement& statement) {
  Rows rows = statement.query();
  const std::int64_t found = rows.next() ? rows.number(0) : 0;
  code_ = rows.failed() ? rows.rc() : SQLITE_OK;
  return found;
}

Applied WorkList::list_all() {
  const std::int64_t last = read(last_row_);
  if (code_ != SQLITE_OK) return Applied{code_, false, {}};
  const std::int64_t from = read(read_mark_);
  if (code_ != SQLITE_OK || last < from) return Applied{code_, false, {}};
  return Applied{list(from, last + 1), true, {}};
}

// Lower is always true: it only means that more rows are looked at. What this transaction knows of the mark stays:
// should the removal be undone, no row is before it that says it is not listed.
Applied WorkList::rows_removed() {
  const std::int64_t last = read(last_row_);
  if (code_ != SQLITE_OK) return Applied{code_, false, {}};
  if (last + 1 >= transaction_.unlisted_from()) return {};
  if (move_mark_.run(last + 1) == Statement::failed) return failed(move_mark_);
  return {};
}

int WorkList::advance() {
  const std::int64_t until = newest_ - rows_max_;
  const std::int64_t step = std::min(rows_max_ + 1, limits::unlisted_rows_step);
  std::int64_t from = std::max(transaction_.unlisted_from(), looked_at_);
  if (until - from < step) return SQLITE_OK;
  if (unreadable_.empty()) {
    from = read(read_mark_);  // a part of the group that was undone may have moved it
    if (code_ != SQLITE_OK) return code_;
  }
  // A part of what it is behind, so that it keeps up with groups of any size.
  const std::int64_t end = std::min(until, from + std::max(4 * limits::unlisted_rows_step, (until - from) / 8));
  const int code = list(from, end);
  if (code == SQLITE_OK && !unreadable_.empty()) looked_at_ = end;
  return code;
}

}  // namespace pawl::store::sqlite
