// LaneRows: the lanes that a group names, who has them, and the numbers that they give.
//
// 1. A lane that guards an operation is locked until the commit, so that it cannot be taken over meanwhile; a renewal
// can be
//    made. Its row's epoch is part of a key: see the layout.
// 2. Whoever numbers a run or an announcement holds the lane's numbers until its commit. So the order of numbers is
// that of
//    commits, and a reader that goes on behind a number misses nothing.
// 3. Rows are locked in the order of lanes.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "core/ids.h"
#include "pawl/time.h"
#include "store/postgres/connection.h"

namespace pawl::store::postgres {

struct LaneRow {
  core::Epoch epoch{0};
  std::string owner;  // empty: free
  std::optional<Instant> lease_until;
};

class LaneRows {
 public:
  enum class Use : std::uint8_t { look, guard, renew, take };  // in the order of what it keeps others from
  void want(core::LaneId lane, Use use);
  // As if it had been read: owned, at this epoch. It says so, and is guarded, when the group is written. False: another
  // operation of the group has another epoch.
  bool assume(core::LaneId lane, core::Epoch epoch);
  void want_numbers(core::LaneId lane) { wanted_numbers_.insert(lane); }

  void ask(Script& script);
  void ask_numbers(Script& script);
  Status take(Done& answers);
  void write(Script& script) const;
  void forget();

  bool exists(core::LaneId lane) const { return rows_.contains(lane); }
  bool owns(core::LaneId lane, core::Epoch epoch) const;
  // Its row is held until the commit, and somebody has it at this epoch.
  bool guards(core::LaneId lane, core::Epoch epoch) const;
  const LaneRow* find(core::LaneId lane) const;
  void put(core::LaneId lane, LaneRow row);
  // REQUIRES: the lane exists, and its numbers were wanted.
  RunId next_run(core::LaneId lane);
  std::uint64_t next_announcement(core::LaneId lane);
  std::uint64_t next_signal(core::LaneId lane);

 private:
  struct Numbers {
    std::uint64_t next_run = 0;
    std::uint64_t next_announcement = 0;
    std::uint64_t next_signal = 0;
    bool changed = false;
  };
  Numbers& numbers_of(core::LaneId lane);

  std::map<core::LaneId, Use> wanted_;
  std::set<core::LaneId> wanted_numbers_;
  std::optional<std::size_t> locked_at_, looked_at_, numbers_at_;
  std::map<core::LaneId, LaneRow> rows_;
  std::map<core::LaneId, core::Epoch> assumed_;
  std::set<core::LaneId> changed_;
  std::map<core::LaneId, Numbers> numbers_;
};

}  // namespace pawl::store::postgres
