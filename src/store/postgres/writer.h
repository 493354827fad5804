// Writer: turns a group of operations into one transaction over one connection. Two round trips: what the group needs
// is read and locked, and, when all is decided, written and committed (desk.h). A group that trusts its bundles, and
// has nothing else, needs the second one only.
//
// 1. Rows that others moved in between undo the transaction, and the group is applied again.
// 2. An operation that PostgreSQL itself refuses (a value that it cannot hold) undoes it too; then the group is applied
// again
//    with a savepoint around each operation, and the one is rejected alone.
// 3. A connection that is lost before COMMIT was sent has applied nothing; after that nobody knows.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "store/operation.h"
#include "store/postgres/bell.h"
#include "store/postgres/connection.h"
#include "store/postgres/desk.h"
#include "store/postgres/own_lanes.h"
#include "store/postgres/server_clock.h"
#include "store/postgres/tail.h"

namespace pawl::store::postgres {

class Writer {
 public:
  struct Parts {
    ServerClock& clock;
    OwnLanes& own;
    const Bell& bell;
    Tail& tail;
    bool sends_directly = true;
    std::chrono::milliseconds transaction_idle_max{0};  // of others too
  };
  // What it refers to must outlive it.
  Writer(Connection& connection, const Parts& parts);

  Result<std::vector<Outcome>> commit(std::span<const Operation> group);
  // One operation, in the transaction that is open on the connection, behind what somebody else wrote there; commits
  // both. What is refused undoes both (writer_open.cc).
  Result<Outcome> commit_open(const Operation& operation);

 private:
  enum class Care : std::uint8_t { together, one_by_one };
  struct Stop {
    Error error;
    bool stale = false;       // others moved the rows
    bool poison = false;      // an operation that can never be applied
    bool locked_out = false;  // others hold a row for too long
  };
  using Stopped = std::optional<Stop>;

  Stopped apply_group(std::span<const Operation> group, Care care, bool trusts);
  Stopped apply_together(std::span<const Operation> group);
  Stopped apply_one_by_one(std::span<const Operation> group);
  // From `first` on, up to one that must wait or is alone.
  Stopped apply_on_desk(std::span<const Operation> group, std::size_t& first);
  Stopped apply_alone_at(std::span<const Operation> group, std::size_t at);
  Stopped load(std::span<const Operation> operations);
  Stopped flush();
  Stopped finish(std::span<const Operation> group);
  bool is_refused_at_once(std::span<const Operation> group, std::size_t at);
  void undo();
  Stop stop_of(const Failure& failure) const;

  Connection& connection_;
  const Parts parts_;
  Desk desk_;
  Script pending_;  // what goes out with the next question
  std::vector<Outcome> outcomes_;
  bool is_open_ = false;            // a transaction
  std::optional<CommitMark> mark_;  // how it will be remembered; none: it has written nothing yet
};

}  // namespace pawl::store::postgres
