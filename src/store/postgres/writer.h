// Writer: turns a group of operations into one transaction over one connection. It needs two round trips: the first
// reads and locks what the group needs, the second writes and commits the decisions (desk.h). A group of trusted
// bundles and submits needs only the second one.
//
// 1. If others changed the rows in between, the transaction is rolled back, and the group is applied again.
// 2. If PostgreSQL itself refuses an operation (a value that it cannot store), the transaction is rolled back too. Then
//    the group is applied again with a savepoint around each operation, and only that operation is rejected.
// 3. A connection that is lost before COMMIT was sent has applied nothing; after that the outcome is unknown.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "store/operation.h"
#include "store/postgres/bell.h"
#include "store/postgres/connection.h"
#include "store/postgres/desk.h"
#include "store/postgres/known_numbers.h"
#include "store/postgres/own_lanes.h"
#include "store/postgres/server_clock.h"
#include "store/postgres/tail.h"
#include "store/rules.h"

namespace pawl::store::postgres {

class Writer {
 public:
  struct Parts {
    ServerClock& clock;
    OwnLanes& own;
    KnownNumbers& numbers;
    const Bell& bell;
    Tail& tail;
    bool sends_directly = true;
    std::chrono::milliseconds transaction_idle_max{0};  // of other sessions too
  };
  // The referenced objects must outlive it.
  Writer(Connection& connection, const Parts& parts);

  Result<std::vector<Outcome>> commit(std::span<const Operation> group);
  // One operation in the transaction that is open on the connection, after another writer's statements there; commits
  // both. If the operation is refused, both are rolled back (writer_open.cc).
  Result<Outcome> commit_open(const Operation& operation);

 private:
  enum class Care : std::uint8_t { together, one_by_one };
  struct Stop {
    Error error;
    bool stale = false;       // others changed the rows
    bool poison = false;      // an operation that can never be applied
    bool locked_out = false;  // others hold a row for too long
  };
  using Stopped = std::optional<Stop>;

  // The lanes of this process that all submits of the group go to; empty: the group has no submits, or one goes to
  // another lane.
  KnownNumbers::Lanes own_lanes_of_submits(std::span<const Operation> group) const;
  void trust_numbers(const std::map<core::LaneId, LaneNumbers>& known);
  Result<std::vector<Outcome>> try_to_commit(std::span<const Operation> group, bool trusts);
  Stopped apply_group(std::span<const Operation> group, Care care, bool trusts);
  Stopped apply_together(std::span<const Operation> group);
  Stopped apply_one_by_one(std::span<const Operation> group);
  // From `first` on, up to an operation that must wait or runs its own statements.
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
  Script pending_;  // sent with the next query
  std::vector<Outcome> outcomes_;
  std::map<core::LaneId, LaneNumbers> numbers_;  // the numbers that the transaction leaves
  FirstSteps first_steps_;
  int tries_ = 0;
  bool is_open_ = false;            // whether a transaction is open
  std::optional<CommitMark> mark_;  // how it will be remembered; none: it has written nothing yet
};

}  // namespace pawl::store::postgres
