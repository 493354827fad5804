// Tail: the last commits that this process was told are done. A server that comes back without them (an asynchronous
// standby took over, an older copy was brought back) is noticed at the next connection, and this process does nothing
// more.
//
// A commit is remembered by its transaction's number and by a position in the server's log between that transaction's
// first record and its COMMIT. Both are asked for inside of the transaction, where the time is asked for anyway.
// Afterwards
//
// 1. a history that left ours before that position does not have the transaction;
// 2. one that left it later knows the number, gives it to nobody else, and says whether it is committed.
//
// So commits of others that were never acknowledged may be gone, and nothing is said.
// docs/decisions/037-postgres-faults.md.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <string>

#include "pawl/result.h"
#include "store/postgres/connection.h"

namespace pawl::store::postgres {

struct CommitMark {
  std::uint64_t timeline = 0;
  std::uint64_t transaction = 0;
  std::uint64_t position = 0;  // in the log of that timeline
};

// Two columns for a statement inside of a transaction, and how they are read. None: it has written nothing yet.
#define PAWL_MARK_COLUMNS \
  "pg_current_xact_id_if_assigned()::text::bigint, (pg_current_wal_insert_lsn() - '0/0'::pg_lsn)::bigint"
std::optional<CommitMark> mark_in(Rows& rows, int first, const Connection& connection);
// For a transaction whose time was asked for before it wrote.
extern const Statement read_commit_mark;

class Tail {
 public:
  // `commits`: how many may be under way at once. The last one of the log is among so many that were acknowledged last.
  explicit Tail(std::size_t commits) : size_(commits) {}

  void acknowledged(const CommitMark& mark);
  // A new session: is it with the server that has all that was acknowledged? REQUIRES: outside of a transaction.
  Status admit(Connection& connection);
  // That nothing was found missing yet. If something was, it stays so.
  Status check() const;
  // Called once, by the thread that finds something missing.
  void on_loss(std::function<void(const std::string&)> report);

 private:
  const std::size_t size_;
  mutable std::mutex mutex_;  // guards what is below
  std::deque<CommitMark> marks_;
  std::string system_;  // the cluster's identifier; empty: no session was admitted yet
  std::optional<Error> lost_;
  std::function<void(const std::string&)> report_;
};

}  // namespace pawl::store::postgres
