// A fault at every operation of every duplex scenario, then at every pair, then at random.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "sim/duplex_world.h"

namespace pawl::sim {

struct DuplexTally {
  std::uint64_t runs = 0;
  std::uint64_t boundaries = 0;  // operations of the simulations without a fault
  std::uint64_t fired = 0;
  std::uint64_t crashes = 0;
  DuplexFigures figures;
  std::optional<Violation> violation;
  std::string how;  // repeats it
};

inline constexpr std::uint32_t duplex_repeats = 4;  // faults in a row; below limits::duplex_deliveries_max

// Each stops at the first violation. It is a violation if a planned fault struck nothing.
void break_every_operation(const DuplexScenario& scenario, std::uint64_t seed, DuplexTally& tally);
void break_every_pair_of_operations(const DuplexScenario& scenario, DuplexTally& tally);
void break_at_random(const DuplexScenario& scenario, std::uint64_t first_seed, std::uint64_t seeds, DuplexTally& tally);

}  // namespace pawl::sim
