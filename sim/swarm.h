// Swarm: each seed makes a whole random world: graphs, jobs, engines, clocks, and its own mix of faults.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "sim/boundaries.h"
#include "sim/scenario.h"
#include "sim/world.h"

namespace pawl::sim {

struct SwarmCase {
  runtime::GraphCatalog graphs;
  Scenario scenario;
  WorldOptions options;
};
// Some worlds have lanes that are islands, or all do.
std::unique_ptr<SwarmCase> draw_case(std::uint64_t seed, bool islands_only = false);

// A world without faults, of one to five engines and four to sixteen lanes, by its seed. All engines except one join
// while there is work; with `ends`, some leave or die for good.
enum class Ends : std::uint8_t { none, some };
WorldOptions draw_comings(std::uint64_t seed, Ends ends);

struct SwarmTally {
  bool prints = false;  // every operation
  bool islands_only = false;
  std::uint64_t islands = 0;  // worlds whose lanes are islands
  std::uint64_t letters_disturbed = 0;
  std::uint64_t comings = 0;     // engines that came late, left or died for good
  std::uint64_t lane_moves = 0;  // from one engine to another
  std::uint64_t seeds = 0;
  std::uint64_t repeated = 0;  // simulated twice, to compare their traces
  std::uint64_t jobs = 0;
  std::uint64_t commits = 0;
  std::uint64_t fired = 0;
  std::uint64_t crashes = 0;
  std::uint64_t reads_failed = 0;
  std::uint64_t runs = 0;  // attempts of activities
  Duration simulated{0};
  std::optional<Failure> failure;
};

inline constexpr std::uint64_t repeat_one_in = 20;

// Simulates one seed; every twentieth twice.
void run_seed(std::uint64_t seed, SwarmTally& tally);

}  // namespace pawl::sim
