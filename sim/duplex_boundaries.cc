#include "sim/duplex_boundaries.h"

#include "base/format.h"

namespace pawl::sim {

namespace {

std::string describe(const DuplexScenario& scenario, const DuplexWorldOptions& options) {
  std::string text = format("scenario {}, seed {}", scenario.name, options.seed);
  for (const PlannedDuplexFault& fault : options.planned)
    text += format(", {} at {} x {}", name_of(fault.kind), fault.first, fault.calls);
  if (options.faults_per_thousand > 0)
    text += format(", {} of 1000, budget {}", options.faults_per_thousand, options.budget);
  return text;
}

DuplexReport run_one(const DuplexScenario& scenario, const DuplexWorldOptions& options, DuplexTally& tally) {
  DuplexReport report = run_duplex(scenario, options);
  ++tally.runs;
  tally.fired += report.fired;
  tally.crashes += report.crashes;
  tally.figures += report.figures;
  if (!report.violation && report.broken == 0 && report.figures.reruns + report.figures.verified > 0)
    report.violation = Violation{"stop", "something was entered again, although nothing but a stop happened"};
  // With the first fault of a pair the simulation may be shorter than without faults.
  if (!report.violation && !options.planned.empty() && report.fired == 0)
    report.violation = Violation{"unstruck", "a planned fault met no operation"};
  if (report.violation) {
    tally.violation = report.violation;
    tally.how = describe(scenario, options);
  }
  return report;
}

}  // namespace

void break_every_operation(const DuplexScenario& scenario, std::uint64_t seed, DuplexTally& tally) {
  const DuplexReport calm = run_one(scenario, {seed, {}, 0, 0}, tally);
  tally.boundaries += calm.calls;
  for (const DuplexFault kind : all_duplex_faults)
    for (const std::uint32_t calls : {1u, duplex_repeats})
      for (std::uint64_t call = 1; call <= calm.calls; ++call) {
        if (tally.violation) return;
        run_one(scenario, {seed, {{kind, call, calls}}, 0, 0}, tally);
      }
}

void break_every_pair_of_operations(const DuplexScenario& scenario, DuplexTally& tally) {
  const DuplexReport calm = run_one(scenario, {0, {}, 0, 0}, tally);
  for (const DuplexFault first : all_duplex_faults)
    for (const DuplexFault second : all_duplex_faults)
      for (std::uint64_t i = 1; i <= calm.calls; ++i)
        for (std::uint64_t j = i + 1; j <= calm.calls; ++j) {
          if (tally.violation) return;
          run_one(scenario, {0, {{first, i, 1}, {second, j, 1}}, 0, 0}, tally);
        }
}

void break_at_random(const DuplexScenario& scenario, std::uint64_t first_seed, std::uint64_t seeds,
                     DuplexTally& tally) {
  for (std::uint64_t seed = first_seed; seed < first_seed + seeds; ++seed) {
    if (tally.violation) return;
    DuplexWorldOptions options;
    options.seed = seed;
    options.faults_per_thousand = 10 + static_cast<std::uint32_t>(seed % 7) * 25;
    options.budget = 8;
    run_one(scenario, options, tally);
  }
}

}  // namespace pawl::sim
