// Which lanes an engine should have, given the engines that are alive. Pure: engines with the same input get the same
// result.
//
// 1. Shares differ by at most one. Leaving engines have none, but keep what they hold until they give it back.
// 2. Only the surplus moves: engines with more lanes keep the larger shares, and a held lane moves only from an engine
//    that has too many. So a joining engine moves its own share and no more, a leaving one what it had.
// 3. A free lane is for exactly one engine. An engine gives its surplus back first; it chooses the lanes.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "core/ids.h"
#include "store/job_store.h"

namespace pawl::runtime {

struct LaneShare {
  std::vector<core::LaneId> take;  // free lanes for this engine, in order
  std::size_t give = 0;            // how many of its lanes are surplus
};

// `alive` by name, as the store answers a report. Empty for an engine that is not among them.
LaneShare lane_share(const std::string& name, std::span<const store::EngineInfo> alive, const store::PoolInfo& pool);

}  // namespace pawl::runtime
