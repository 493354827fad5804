#include "runtime/lanes.h"

#include <algorithm>

namespace pawl::runtime {

OwnedLane* Lanes::mine(core::LaneId lane) const {
  return table_.owns(lane, clock_.monotonic()) ? memory_of(lane) : nullptr;
}

OwnedLane* Lanes::memory_of(core::LaneId lane) const {
  const auto found = owned_.find(lane);
  return found == owned_.end() ? nullptr : found->second.get();
}

std::vector<OwnedLane*> Lanes::all_mine() const {
  std::vector<OwnedLane*> mine_now;
  mine_now.reserve(owned_.size());
  const Duration now = clock_.monotonic();
  for (const auto& [lane, owned] : owned_)
    if (table_.owns(lane, now)) mine_now.push_back(owned.get());
  return mine_now;
}

OwnedLane& Lanes::take(core::LaneId lane, core::Epoch epoch) {
  forget(lane);
  const std::size_t share = limits::due_entries_max / std::max<std::size_t>(table_.pool().lanes, 1);
  auto taken = std::make_unique<OwnedLane>(lane, epoch, ++times_taken_, clock_.now(),
                                           std::max(share, limits::due_entries_of_lane_min));
  return *owned_.emplace(lane, std::move(taken)).first->second;
}

void Lanes::forget(core::LaneId lane) {
  const auto found = owned_.find(lane);
  if (found == owned_.end()) return;
  gone_.push_back(std::move(found->second));
  owned_.erase(found);
}

}  // namespace pawl::runtime
