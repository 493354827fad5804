// LanesHere: the lanes that this process's engine has, for other threads. The end of a job in another lane is told to
// nobody here. Any thread may call it.
#pragma once

#include <algorithm>
#include <mutex>
#include <utility>
#include <vector>

#include "core/ids.h"

namespace pawl::runtime {

class LanesHere {
 public:
  // True: some were lost.
  bool set(std::vector<core::LaneId> lanes) {
    std::sort(lanes.begin(), lanes.end());
    const std::lock_guard lock(mutex_);
    if (lanes == lanes_) return false;
    const auto before = std::exchange(lanes_, std::move(lanes));
    return !std::includes(lanes_.begin(), lanes_.end(), before.begin(), before.end());
  }
  bool has(RunId run) const {
    const std::lock_guard lock(mutex_);
    return std::binary_search(lanes_.begin(), lanes_.end(), core::lane_of(run));
  }

 private:
  mutable std::mutex mutex_;
  std::vector<core::LaneId> lanes_;  // sorted; guarded by mutex_
};

}  // namespace pawl::runtime
