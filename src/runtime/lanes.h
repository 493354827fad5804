// Lanes: the lanes of the pool, and those among them that this engine owns. LaneTable says until when; this says what is
// remembered of each. A lane that is lost is out of reach at once, and its memory stays until the end of the turn: whoever
// is just looking at it may finish the sentence.
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
  OwnedLane* mine(core::LaneId lane);
  OwnedLane* mine(RunId run) { return mine(core::lane_of(run)); }
  const OwnedLane* mine(core::LaneId lane) const { return const_cast<Lanes*>(this)->mine(lane); }
  std::vector<OwnedLane*> all_mine();  // in their order
  std::vector<const OwnedLane*> all_mine() const;

  // Taken, or kept by a renewal that came so late that the memory of it is not to be trusted.
  OwnedLane& take(core::LaneId lane, core::Epoch epoch);
  OwnedLane* memory_of(core::LaneId lane);  // whether or not it may be acted for now
  void forget(core::LaneId lane);           // its memory
  // Nobody looks at what was forgotten any more.
  void end_turn() { gone_.clear(); }

  LaneTable& table() { return table_; }
  const LaneTable& table() const { return table_; }
  core::LaneId lane_for(const core::Target& target) const { return table_.lane_for(target); }

 private:
  LaneTable table_;
  const Clock& clock_;
  std::map<core::LaneId, std::unique_ptr<OwnedLane>> owned_;
  std::vector<std::unique_ptr<OwnedLane>> gone_;
};

}  // namespace pawl::runtime
