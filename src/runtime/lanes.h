// Lanes: the lanes of the pool, and those that this engine owns. LaneTable has the times; this class has what is
// remembered of each. A lost lane is no longer found, but its memory is freed only at the next turn: a calling function
// may still hold a reference to it.
#pragma once

#include <map>
#include <memory>
#include <vector>

#include "base/clock.h"
#include "runtime/lane_table.h"
#include "runtime/owned_lane.h"

namespace pawl::runtime {

class Lanes {
 public:
  Lanes(store::PoolInfo pool, Duration lease, const Clock& clock) : table_(pool, lease), clock_(clock) {}

  // None: this engine may not act for it now.
  OwnedLane* mine(core::LaneId lane) const;
  OwnedLane* mine(RunId run) const { return mine(core::lane_of(run)); }
  std::vector<OwnedLane*> all_mine() const;  // in their order

  // Taken, or kept by a renewal that came so late that its memory cannot be trusted.
  OwnedLane& take(core::LaneId lane, core::Epoch epoch);
  OwnedLane* memory_of(core::LaneId lane) const;  // even if the engine may not act for it now
  void forget(core::LaneId lane);                 // its memory
  // No references to forgotten lanes are left.
  void end_turn() { gone_.clear(); }

  LaneTable& table() { return table_; }
  const LaneTable& table() const { return table_; }
  core::LaneId lane_for(const core::Target& target) const { return table_.lane_for(target); }

 private:
  LaneTable table_;
  const Clock& clock_;
  std::uint64_t times_taken_ = 0;  // any lane
  std::map<core::LaneId, std::unique_ptr<OwnedLane>> owned_;
  std::vector<std::unique_ptr<OwnedLane>> gone_;
};

}  // namespace pawl::runtime
