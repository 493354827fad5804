// WorkList: owns the list of work items, in which the queue finds what waits for a worker, and the mark before the
// newest rows. Each item is in its activity's row. It is in the list as well, unless the lane's owner claimed it as it
// put it and nothing else has happened to it since: then nobody looks for it, and its row says so (`unlisted`).
//
// Who takes a lane after a crash must find those too, so there is one rule: an item that is not in the list is in a row
// from unlisted_from on. Whoever moves that mark lists first what would be before it (advance(), list_all()).
// verify() checks the rule.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <set>

#include "core/job_state.h"
#include "store/sqlite/applied.h"
#include "store/sqlite/connection.h"
#include "store/sqlite/limits.h"
#include "store/sqlite/transaction.h"

namespace pawl::store::sqlite {

// Whether nobody looks for the item: the lane's owner holds it, and the clock has no part in it.
bool is_quiet(const core::WorkItem& item, Instant wake_at);

class WorkList {
 public:
  // The reference must outlive it.
  explicit WorkList(Transaction& transaction) : transaction_(transaction) {}
  Status prepare(Connection& connection);

  // A new activity, with or without work: the mark follows the newest row, whatever is in it.
  void row_added(std::int64_t row) { newest_ = std::max(newest_, row); }
  // After that, if it has an item for which is_quiet() holds, written as `unlisted`.
  Applied put_quiet(RunId run, core::ActivitySeq activity, std::int64_t row);
  // After any other write of an item: the list has what the row has, if the item is listed.
  Applied put(RunId run, core::ActivitySeq activity);
  // Whether it was in the list, with this token; none: with any.
  Checked drop(RunId run, core::ActivitySeq activity, const std::optional<core::WorkToken>& token);
  Applied sweep(RunId run);
  Applied hold(RunId run);

  // A lane has a new owner: whatever is open is listed, so that it is found without reading the newest rows.
  Applied list_all();
  // Rows are gone, perhaps the newest: their numbers are given again.
  Applied rows_removed();
  // At the end of a group: lists what is still open of the rows that are no longer the newest. A result code.
  int advance();
  void forget() { newest_ = 0; }
  void keep_unlisted(std::int64_t rows_max) { rows_max_ = rows_max; }

 private:
  int list(std::int64_t from, std::int64_t until);
  std::int64_t read(Statement& statement);  // one number; code_ says whether it was read

  Transaction& transaction_;
  std::int64_t rows_max_ = limits::unlisted_rows_max;
  std::int64_t newest_ = 0;            // row of a new activity in this group
  std::set<std::int64_t> in_pieces_;   // blocks of rows with some that cannot be read: listed piece by piece
  std::set<std::int64_t> unreadable_;  // those pieces: the mark stays before them
  std::int64_t looked_at_ = 0;         // rows up to there, while there are such pieces
  int code_ = SQLITE_OK;
  Statement list_rows_, unlist_none_, put_, enlist_, drop_, sweep_, hold_, read_mark_, move_mark_, last_row_;
};

}  // namespace pawl::store::sqlite
