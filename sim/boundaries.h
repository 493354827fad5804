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
  bool renewals = true;       // false: of lanes, as over SQLite
  std::uint32_t islands = 0;  // so many lanes, each a node of the store by itself; 0: they are one
};
// One engine or two, every step alone or fused.
const std::vector<Setting>& all_settings();

// Of jobs that send to each other: two engines and three, each with lanes of its own. Of the life of an activity: also
// without renewals, which look at everything again.
const std::vector<Setting>& settings_for(const Scenario& scenario);

// Of lanes that are islands: two to five engines, four to sixteen lanes.
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
  std::uint64_t boundaries = 0;  // commit calls of the runs without a fault
  std::uint64_t fired = 0;       // broken commit calls
  std::uint64_t crashes = 0;
  std::optional<Failure> failure;
};

inline constexpr std::uint64_t pair_calls_max = 30;     // a run with more commits is not small: no pairs
inline constexpr std::uint32_t calls_until_healed = 4;  // below limits::reentries_max

inline constexpr std::uint64_t island_calls_max = 100;  // broken by one kind of fault: most calls are renewals

// Both stop at the first failure. With a stride, each kind of fault breaks every so many-th call, not all the same
// ones. A run whose faults did not all fire is a failure as well.
void break_every_call(const Scenario& scenario, const Setting& setting, Tally& tally, std::uint64_t stride = 1);
void break_every_pair(const Scenario& scenario, const Setting& setting, Tally& tally);

}  // namespace pawl::sim
