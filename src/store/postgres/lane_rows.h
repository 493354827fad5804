// LaneRows: the lanes that a group names, their owners, and the numbers that they give.
//
// 1. A lane that guards an operation is locked until the commit, so that nobody can take it over meanwhile. A renewal
//    is still possible. The epoch of its row is part of a key: see the layout.
// 2. A transaction that numbers a run or an announcement holds the lane's numbers until its commit. So numbers are in
//    the order of commits, and a reader that continues after a number misses nothing.
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
#include "store/postgres/known_numbers.h"

namespace pawl::store::postgres {

struct LaneRow {
  core::Epoch epoch{0};
  std::string owner;  // empty: no owner
  std::optional<Instant> lease_until;
};

class LaneRows {
 public:
  enum class Use : std::uint8_t { look, guard, renew, take };  // ordered by how strongly it locks
  void want(core::LaneId lane, Use use);
  // Assumes, without reading, that the lane has an owner at this epoch. The group's statements compare this and guard
  // the lane. Returns false if another operation of the group names another epoch.
  bool assume(core::LaneId lane, core::Epoch epoch);
  void want_numbers(core::LaneId lane) { wanted_numbers_.insert(lane); }
  // Assumes these numbers without reading; they are compared when the group is written.
  void assume_numbers(core::LaneId lane, const LaneNumbers& numbers);

  void ask(Script& script);
  void ask_numbers(Script& script);
  Status take(Done& answers);
  void write(Script& script) const;
  void forget();

  bool exists(core::LaneId lane) const { return rows_.contains(lane); }
  bool owns(core::LaneId lane, core::Epoch epoch) const;
  // The transaction holds the lane's row until the commit, and the lane has an owner at this epoch.
  bool guards(core::LaneId lane, core::Epoch epoch) const;
  const LaneRow* find(core::LaneId lane) const;
  void put(core::LaneId lane, LaneRow row);
  // REQUIRES: the lane exists, and its numbers were wanted.
  RunId next_run(core::LaneId lane);
  std::uint64_t next_announcement(core::LaneId lane);
  std::uint64_t next_signal(core::LaneId lane);
  std::map<core::LaneId, LaneNumbers> numbers() const;  // as they will be after the commit

 private:
  struct Numbers {
    LaneNumbers now;
    std::optional<LaneNumbers> assumed;  // the stored numbers must equal these
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
