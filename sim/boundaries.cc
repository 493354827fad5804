#include "sim/boundaries.h"

#include <algorithm>

#include "base/format.h"

namespace pawl::sim {

namespace {
constexpr std::uint32_t lanes_of_graphs = 3;
constexpr Duration island_clock_error = std::chrono::milliseconds(3);
}  // namespace

const std::vector<Setting>& all_settings() {
  static const std::vector<Setting> all = {
      {core::Fusion::on, 1}, {core::Fusion::off, 1}, {core::Fusion::on, 2}, {core::Fusion::off, 2}};
  return all;
}

const std::vector<Setting>& settings_for(const Scenario& scenario) {
  static const std::vector<Setting> of_graphs = {{core::Fusion::on, 2}, {core::Fusion::off, 2}, {core::Fusion::on, 3}};
  static const std::vector<Setting> of_life = [] {
    std::vector<Setting> all = all_settings();
    all.push_back({core::Fusion::on, 1, false});
    return all;
  }();
  return scenario.is_graphs() ? of_graphs : scenario.life ? of_life : all_settings();
}

const std::vector<Setting>& island_settings() {
  static const std::vector<Setting> all = {
      {core::Fusion::on, 2, true, 4}, {core::Fusion::off, 3, true, 8}, {core::Fusion::on, 5, true, 16}};
  return all;
}

WorldOptions options_for(const Scenario& scenario, const Setting& setting) {
  WorldOptions options = options_for(setting);
  if (!scenario.is_graphs()) return options;
  if (setting.islands == 0) options.lanes = lanes_of_graphs;
  options.homes = true;
  return options;
}

WorldOptions options_for(const Setting& setting) {
  WorldOptions options;
  options.fusion = setting.fusion;
  options.engines = setting.engines;
  // With two engines a restarted one comes back under another name, so the other one takes over the lanes.
  options.new_name_at_restart = setting.engines > 1;
  options.renewals = setting.renewals;
  if (setting.islands == 0) return options;
  options.islands = options.reads_later = true;
  options.lanes = setting.islands;
  options.homes = true;
  options.lane_clock_error_max = island_clock_error;
  options.rates.letters_per_thousand = 150;
  options.rates.letters_max = 40;
  return options;
}

std::string command_for(const Scenario& scenario, const Setting& setting, const std::vector<PlannedFault>& faults) {
  std::string text = format("build/release/sim/sim --scenario {} --engines {} --fusion {}", scenario.name,
                            setting.engines, setting.fusion == core::Fusion::on ? "on" : "off");
  if (!setting.renewals) text += " --renewals off";
  if (setting.islands != 0) text += format(" --islands {}", setting.islands);
  for (const PlannedFault& fault : faults)
    text += format(" --fault {}:{}:{}", name_of(fault.kind), fault.first, fault.calls);
  return text;
}

namespace {

// Runs it and judges it; returns the report if there is no violation.
std::optional<WorldReport> attempt(const Scenario& scenario, const Setting& setting,
                                   const std::vector<PlannedFault>& faults, std::uint64_t fired_min, Tally& tally) {
  WorldOptions options = options_for(scenario, setting);
  options.planned = faults;
  WorldReport report = run_world(scenario, options);
  ++tally.runs;
  tally.fired += report.fired;
  tally.crashes += report.crashes;
  if (!report.violation && report.fired < fired_min)
    report.violation = Violation{"harness", format("{} of {} faults fired", report.fired, fired_min)};
  if (!report.violation) return report;
  tally.failure = Failure{*report.violation, command_for(scenario, setting, faults)};
  return std::nullopt;
}

}  // namespace

void break_every_call(const Scenario& scenario, const Setting& setting, Tally& tally, std::uint64_t stride) {
  const auto calm = attempt(scenario, setting, {}, 0, tally);
  if (!calm || scenario.endless) return;
  tally.boundaries += calm->calls_to_end;
  std::uint64_t number = 0;  // each kind of fault breaks different calls, if not all of them
  if (setting.islands != 0) stride = std::max(stride, calm->calls_to_end / island_calls_max + 1);
  for (const FaultKind kind : all_fault_kinds) {
    if (!setting.renewals && !is_of_files(kind)) continue;
    for (const std::uint32_t calls : {1u, calls_until_healed})
      for (std::uint64_t first = 1 + number++ % stride; first <= calm->calls_to_end; first += stride)
        if (!attempt(scenario, setting, {{kind, first, calls}}, 1, tally)) return;
  }
}

void break_every_pair(const Scenario& scenario, const Setting& setting, Tally& tally) {
  const auto calm = attempt(scenario, setting, {}, 0, tally);
  if (!calm || calm->calls_to_end > pair_calls_max) return;
  tally.boundaries += calm->calls_to_end;
  for (std::uint64_t first = 1; first <= calm->calls_to_end; ++first)
    for (std::uint64_t second = first + 1; second <= calm->calls_to_end + 2; ++second)
      for (const FaultKind a : all_fault_kinds)
        for (const FaultKind b : all_fault_kinds)
          if (!attempt(scenario, setting, {{a, first, 1}, {b, second, 1}}, 2, tally)) return;
}

}  // namespace pawl::sim
