// Which lanes an engine should have, of those that live. Pure: every engine that sees the same comes to the same.
//
// 1. Shares differ by at most one. Leaving engines have none; what they hold is theirs until they give it back.
// 2. Only what is too much moves: whoever holds more keeps the larger share, and a lane that is held moves only from an
//    engine that has too many. So a joining engine moves its own share and no more, a leaving one what it had.
// 3. A free lane is for exactly one engine. What an engine has too much it gives back first: which lanes is its own
// choice.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "core/ids.h"
#include "store/job_store.h"

namespace pawl::runtime {

struct LaneShare {
  std::vector<core::LaneId> take;  // free lanes that are for this engine, in order
  std::size_t give = 0;            // how many of its own it has too much
};

// `alive` by name, as a beat answers it. None for an engine that is not among them.
LaneShare lane_share(const std::string& name, std::span<const store::EngineInfo> alive, const store::PoolInfo& pool);

}  // namespace pawl::runtime
