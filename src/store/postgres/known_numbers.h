// KnownNumbers: the next numbers of the lanes of this process, as far as it knows them. A group that submits to these
// lanes writes the known numbers with a comparison and does not read them first. Another process may number in the same
// lane. Then the comparison fails, the group is applied again to the numbers that it reads, and for some time groups
// read the numbers of these lanes.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <set>

#include "core/ids.h"

namespace pawl::store::postgres {

struct LaneNumbers {
  std::uint64_t next_run = 0;
  std::uint64_t next_announcement = 0;
  std::uint64_t next_signal = 0;
};

class KnownNumbers {
 public:
  using Lanes = std::set<core::LaneId>;
  // Begins a group that numbers in these lanes; leave() ends it. Returns the numbers that the group may trust; none:
  // one of them is not known, was wrong a short time ago, or is in use by another group.
  std::optional<std::map<core::LaneId, LaneNumbers>> enter(const Lanes& lanes);
  // An unknown outcome counts as wrong: the commit may have happened.
  enum class Were : std::uint8_t { read, right, wrong };
  void leave(const Lanes& lanes, Were were);
  // The numbers after a commit. They only grow.
  void learn(const std::map<core::LaneId, LaneNumbers>& numbers);

 private:
  struct Lane {
    std::optional<LaneNumbers> numbers;
    std::uint32_t groups = 0;  // that use the lane now
    std::uint32_t doubt = 0;   // how many times in a row the numbers were wrong
    std::uint32_t wait = 0;    // how many groups must read the numbers first
  };
  std::mutex mutex_;
  std::map<core::LaneId, Lane> lanes_;  // guarded by mutex_
};

}  // namespace pawl::store::postgres
