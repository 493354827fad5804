// KnownNumbers: what the lanes of this process number next, as far as it knows. A group that submits to them writes
// what it knows and compares, and needs no question first. Others may number in the same lane: then the comparison
// fails, the group is applied again to what it reads, and these lanes are read for a while.
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
  // A group that numbers in these lanes is under way until it leaves them. What it may trust; none: one of them is not
  // known, was wrong a while ago, or is in another group that is under way.
  std::optional<std::map<core::LaneId, LaneNumbers>> enter(const Lanes& lanes);
  enum class Were : std::uint8_t { read, right, wrong };  // not known is wrong: its commit may have come to pass
  void leave(const Lanes& lanes, Were were);
  // What a commit left. They only grow.
  void learn(const std::map<core::LaneId, LaneNumbers>& numbers);

 private:
  struct Lane {
    std::optional<LaneNumbers> numbers;
    std::uint32_t groups = 0;  // under way
    std::uint32_t doubt = 0;   // grows each time that they were wrong, one after the other
    std::uint32_t wait = 0;    // so many groups are to read them first
  };
  std::mutex mutex_;
  std::map<core::LaneId, Lane> lanes_;  // guarded by mutex_
};

}  // namespace pawl::store::postgres
