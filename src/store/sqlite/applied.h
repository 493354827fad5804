// What one operation, or a part of one, did inside the open transaction.
#pragma once

#include <sqlite3.h>

#include <optional>
#include <string>
#include <utility>

#include "store/operation.h"
#include "store/sqlite/connection.h"
#include "store/sqlite/statement.h"

namespace pawl::store::sqlite {

template <class Answer>
struct AppliedAs {
  int code = SQLITE_OK;  // other than SQLITE_OK: a statement failed
  bool wrote = false;    // a refusal after a write must be undone
  Answer outcome;
};
using Applied = AppliedAs<Outcome>;

template <class Answer>
bool is_done(const AppliedAs<Answer>& applied) {
  return applied.code == SQLITE_OK && applied.outcome.done();
}

// What is read inside the transaction, or why it cannot be read: `failed` is the operation's answer. A row that no
// store can have written is treated like a damaged page: it stops its own operation, not the group.
struct Checked {
  bool yes = false;
  std::optional<Applied> failed{};
};

// A row that all operations need (a lane, a stream) cannot be read: no single operation is the cause.
inline int for_whole_group(int code) { return fault_of(code) == Fault::unreadable ? SQLITE_IOERR : code; }
template <class Answer>
AppliedAs<Answer> for_whole_group(AppliedAs<Answer> applied) {
  applied.code = for_whole_group(applied.code);
  return applied;
}

inline Applied refused(OutcomeKind kind, std::string reason) {
  Applied applied;
  applied.outcome.kind = kind;
  applied.outcome.reason = std::move(reason);
  return applied;
}
inline Applied contradicts(std::string reason) { return refused(OutcomeKind::rejected, std::move(reason)); }
inline Applied failed(const Statement& statement) { return Applied{statement.code(), false, {}}; }
inline Applied failed(const Rows& rows) { return Applied{rows.rc(), false, {}}; }
inline Applied damaged_row(std::string what) {
  Applied applied{SQLITE_CORRUPT, false, {}};
  applied.outcome.reason = std::move(what);
  return applied;
}

}  // namespace pawl::store::sqlite
