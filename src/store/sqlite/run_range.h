// The stored runs of a lane. Lane 0: of all lanes.
#pragma once

#include <cstdint>
#include <limits>

#include "core/ids.h"

namespace pawl::store::sqlite {

struct RunRange {
  std::int64_t first = std::numeric_limits<std::int64_t>::min();
  std::int64_t last = std::numeric_limits<std::int64_t>::max();
};
inline RunRange runs_of(core::LaneId lane) {
  if (lane == core::LaneId(0)) return {};
  constexpr std::uint64_t sequence_max = (std::uint64_t{1} << core::run_sequence_bits) - 1;
  return {static_cast<std::int64_t>(core::make_run(lane, 0).raw()),
          static_cast<std::int64_t>(core::make_run(lane, sequence_max).raw())};
}

}  // namespace pawl::store::sqlite
