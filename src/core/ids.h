// Numbers of the core: lanes, epochs, revisions, and the parts of a run id.
#pragma once

#include <cstdint>

#include "pawl/ids.h"

namespace pawl::core {

using LaneId = Strong<struct LaneIdTag, std::uint32_t>;            // unique over all pools of a store
using Epoch = Strong<struct EpochTag, std::uint64_t>;              // rises with every new owner of a lane
using Rev = Strong<struct RevTag, std::uint64_t>;                  // rises with every bundle of a job
using BundleId = Strong<struct BundleIdTag, std::uint64_t>;        // stored in the row that the bundle last wrote
using ActivitySeq = Strong<struct ActivitySeqTag, std::uint32_t>;  // nth instance of its job, from 0
using WorkToken = Strong<struct WorkTokenTag, std::uint64_t>;      // needed to reply to a work item; 0: not claimed

inline constexpr int run_sequence_bits = 47;

constexpr RunId make_run(LaneId lane, std::uint64_t sequence) {
  return RunId(std::uint64_t{lane.raw()} << run_sequence_bits | sequence);
}
constexpr LaneId lane_of(RunId run) { return LaneId(static_cast<std::uint32_t>(run.raw() >> run_sequence_bits)); }
constexpr Rev next(Rev rev) { return Rev(rev.raw() + 1); }
constexpr Epoch next(Epoch epoch) { return Epoch(epoch.raw() + 1); }

}  // namespace pawl::core
