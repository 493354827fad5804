// The boundary loop: a fault at every commit of every scenario, then at every pair.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/faults.h"
#include "sim/scenario.h"
#include "sim/world.h"

namespace pawl::sim {

struct Setting {
  core::Fusion fusion = core::Fusion::on;
  std::uint32_t engines = 1;
  bool renewals = true;       // false: lanes are not renewed, as over SQLite
  std::uint32_t islands = 0;  // number of lanes, each a separate node of the store; 0: all lanes are one node
};
// One engine or two, every step alone or fused.
const std::vector<Setting>& all_settings();

// Jobs that send to each other: two and three engines, each with its own lanes. The life of an activity: also without
// renewals, because a renewal scans everything again.
const std::vector<Setting>& settings_for(const Scenario& scenario);

// Lanes that are islands: two to five engines, four to sixteen lanes.
const std::vector<Setting>& island_settings();

WorldOptions options_for(const Setting& setting);
WorldOptions options_for(const Scenario& scenario, const Setting& setting);

struct Failure {
  Violation violation;
  std::string command;  // repeats it
};
std::string command_for(const Scenario& scenario, const Setting& setting, const std::vector<PlannedFault>& faults);

struct Tally {
  std::uint64_t runs = 0;
  std::uint64_t boundaries = 0;  // commit calls of the simulations without a fault
  std::uint64_t fired = 0;       // broken commit calls
  std::uint64_t crashes = 0;
  std::optional<Failure> failure;
};

inline constexpr std::uint64_t pair_calls_max = 30;     // a simulation with more commits is not small: no pairs
inline constexpr std::uint32_t calls_until_healed = 4;  // below limits::reentries_max

inline constexpr std::uint64_t island_calls_max = 100;  // by one kind of fault: most calls are renewals

// Both stop at the first failure. With a stride, each kind of fault breaks every nth call, and different kinds break
// different calls. A simulation whose faults did not all fire is a failure as well.
void break_every_call(const Scenario& scenario, const Setting& setting, Tally& tally, std::uint64_t stride = 1);
void break_every_pair(const Scenario& scenario, const Setting& setting, Tally& tally);

}  // namespace pawl::sim
