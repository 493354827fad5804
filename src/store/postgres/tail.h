// Tail: the last commits that the server acknowledged to this process. A server may come back without them, because an
// asynchronous standby took over or an older copy was restored. This process notices it at the next connection and does
// nothing more.
//
// A commit is remembered by its transaction's number and by a position in the server's log between that transaction's
// first record and its COMMIT. Both are read inside of the transaction, together with the time. Afterwards:
//
// 1. A timeline that branched off before that position does not have the transaction.
// 2. A timeline that branched off later knows the number, never uses it again, and reports whether it is committed.
//
// So if commits of others that were never acknowledged are lost, this is not reported.
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
// For a transaction whose time was read before it wrote.
extern const Statement read_commit_mark;

class Tail {
 public:
  // `commits`: how many may be in progress at once. The last commit in the log is among that many of the last
  // acknowledged ones.
  explicit Tail(std::size_t commits) : size_(commits) {}

  void acknowledged(const CommitMark& mark);
  // Checks for a new session that its server has everything that was acknowledged. REQUIRES: outside of a transaction.
  Status admit(Connection& connection);
  // Returns an error if a loss was ever found.
  Status check() const;
  // Called once, by the thread that finds a loss.
  void on_loss(std::function<void(const std::string&)> report);

 private:
  const std::size_t size_;
  mutable std::mutex mutex_;  // guards the members below
  std::deque<CommitMark> marks_;
  std::string system_;  // the cluster's identifier; empty: no session was admitted yet
  std::optional<Error> lost_;
  std::function<void(const std::string&)> report_;
};

}  // namespace pawl::store::postgres
