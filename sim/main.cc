// sim: runs the simulator for as long as you like. Without arguments: 10,000 seeds.
//
//   sim --seeds N --first-seed S --time T     random worlds, N of them or for T seconds
//   sim --boundaries [--scenario name]        a fault at every commit
//   sim --pairs [--scenario name]             at every pair of commits, small scenarios or the one named
//   sim --boundaries | --pairs --part 1/2     of the scenarios, every second one: parts share the cores
//   sim --boundaries --of graphs|life         only jobs of the graph language, or only the others
//   sim --boundaries | --seeds N --islands    each lane a separate node of the store
//   sim --boundaries --stride N               a fault at every Nth commit
//   sim --explore                             every interleaving of a small protocol
//   sim --soak [--hours H] [--jobs-per-hour N]   a day of steady work on SQLite: nothing may grow
//   sim --scenario name [--engines E] [--islands LANES] [--fusion on|off] [--fault kind:first:calls]... [--verbose]
//                                             one simulation
//
// On failure it prints the command that repeats it and exits with 1; with 2 when the arguments are wrong.
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "base/format.h"
#include "sim/boundaries.h"
#include "sim/explorer.h"
#include "sim/soak.h"
#include "sim/swarm.h"

namespace pawl::sim {
namespace {

struct Arguments {
  std::uint64_t seeds = 10'000;
  std::uint64_t first_seed = 1;
  std::uint64_t seconds = 0;  // 0: the number of seeds decides
  std::string scenario;
  std::uint64_t part = 1;
  std::uint64_t parts = 1;
  std::string of;  // graphs or life; empty: both
  bool boundaries = false;
  bool pairs = false;
  bool explore = false;
  bool soak = false;
  std::uint64_t hours = 24;
  std::uint32_t jobs_per_hour = 3600;
  bool verbose = false;
  bool islands = false;
  std::uint64_t stride = 1;
  Setting setting;
  std::vector<PlannedFault> faults;
};

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

int fail(const Failure& failure) {
  std::printf("FAILED (%s): %s\nrepeat it with:\n  %s\n", failure.violation.oracle.c_str(),
              failure.violation.detail.c_str(), failure.command.c_str());
  return 1;
}

std::optional<PlannedFault> parse_fault(const std::string& text) {
  const auto colon = text.find(':');
  const auto second = text.find(':', colon + 1);
  if (colon == std::string::npos || second == std::string::npos) return std::nullopt;
  for (const FaultKind kind : all_fault_kinds)
    if (text.substr(0, colon) == name_of(kind))
      return PlannedFault{kind, std::strtoull(text.c_str() + colon + 1, nullptr, 10),
                          static_cast<std::uint32_t>(std::strtoul(text.c_str() + second + 1, nullptr, 10))};
  return std::nullopt;
}

std::optional<Arguments> parse(int argc, char** argv) {
  Arguments arguments;
  for (int i = 1; i < argc; ++i) {
    const std::string name = argv[i];
    if (name == "--boundaries") {
      arguments.boundaries = true;
      continue;
    }
    if (name == "--pairs") {
      arguments.pairs = true;
      continue;
    }
    if (name == "--explore") {
      arguments.explore = true;
      continue;
    }
    if (name == "--soak") {
      arguments.soak = true;
      continue;
    }
    if (name == "--verbose") {
      arguments.verbose = true;
      continue;
    }
    if (name == "--islands") {
      arguments.islands = true;
      const bool counted =
          i + 1 < argc && std::string_view(argv[i + 1]).find_first_not_of("0123456789") == std::string::npos;
      arguments.setting.islands = counted ? static_cast<std::uint32_t>(std::strtoul(argv[++i], nullptr, 10)) : 8;
      continue;
    }
    if (i + 1 == argc) return std::nullopt;
    const std::string value = argv[++i];
    if (name == "--seeds")
      arguments.seeds = std::strtoull(value.c_str(), nullptr, 10);
    else if (name == "--first-seed")
      arguments.first_seed = std::strtoull(value.c_str(), nullptr, 10);
    else if (name == "--stride")
      arguments.stride = std::strtoull(value.c_str(), nullptr, 10);
    else if (name == "--time")
      arguments.seconds = std::strtoull(value.c_str(), nullptr, 10);
    else if (name == "--hours")
      arguments.hours = std::strtoull(value.c_str(), nullptr, 10);
    else if (name == "--jobs-per-hour")
      arguments.jobs_per_hour = static_cast<std::uint32_t>(std::strtoul(value.c_str(), nullptr, 10));
    else if (name == "--part") {
      char* rest = nullptr;
      arguments.part = std::strtoull(value.c_str(), &rest, 10);
      arguments.parts = *rest == '/' ? std::strtoull(rest + 1, nullptr, 10) : 0;
      if (arguments.part == 0 || arguments.part > arguments.parts) return std::nullopt;
    } else if (name == "--scenario")
      arguments.scenario = value;
    else if (name == "--of")
      arguments.of = value;

    else if (name == "--engines")
      arguments.setting.engines = static_cast<std::uint32_t>(std::strtoul(value.c_str(), nullptr, 10));
    else if (name == "--fusion")
      arguments.setting.fusion = value == "off" ? core::Fusion::off : core::Fusion::on;
    else if (name == "--renewals")
      arguments.setting.renewals = value != "off";
    else if (name == "--fault") {
      const auto fault = parse_fault(value);
      if (!fault) return std::nullopt;
      arguments.faults.push_back(*fault);
    } else {
      return std::nullopt;
    }
  }
  if (!arguments.of.empty() && arguments.of != "graphs" && arguments.of != "life") return std::nullopt;
  if (arguments.hours == 0 || arguments.jobs_per_hour == 0 || arguments.stride == 0) return std::nullopt;
  // Pairs break only small simulations, and with many lanes there are none.
  if (arguments.islands && (arguments.setting.islands == 0 || !arguments.setting.renewals || arguments.pairs))
    return std::nullopt;
  if (!arguments.scenario.empty() && find_scenario(arguments.scenario) == nullptr) return std::nullopt;
  return arguments;
}

int run_loops(const Arguments& arguments) {
  const auto start = std::chrono::steady_clock::now();
  Tally total;
  std::uint64_t number = 0;
  for (const Scenario& scenario : all_scenarios()) {
    if (!arguments.scenario.empty() && scenario.name != arguments.scenario) continue;
    if (arguments.pairs && !scenario.small && arguments.scenario.empty()) continue;
    if (!arguments.of.empty() && (arguments.of == "graphs") != scenario.is_graphs()) continue;
    if (number++ % arguments.parts != arguments.part - 1) continue;
    Tally tally;
    for (const Setting& setting : arguments.islands ? island_settings() : settings_for(scenario)) {
      // Pairs: two engines only where a simulation is short, which is where all steps are fused.
      if (arguments.pairs && setting.engines == 2 && setting.fusion == core::Fusion::off) continue;
      if (arguments.pairs && !setting.renewals) continue;
      if (arguments.pairs)
        break_every_pair(scenario, setting, tally);
      else
        break_every_call(scenario, setting, tally, arguments.stride);
      if (tally.failure) return fail(*tally.failure);
    }
    std::printf("%-20s %6llu boundaries %8llu runs %8llu faults fired\n", scenario.name.c_str(),
                static_cast<unsigned long long>(tally.boundaries), static_cast<unsigned long long>(tally.runs),
                static_cast<unsigned long long>(tally.fired));
    std::fflush(stdout);
    total.boundaries += tally.boundaries;
    total.runs += tally.runs;
    total.fired += tally.fired;
    total.crashes += tally.crashes;
  }
  std::printf("%s: %llu boundaries, %llu runs, %llu faults fired, %llu crashes, no violation, %.1f s\n",
              arguments.pairs ? "pairs" : "single faults", static_cast<unsigned long long>(total.boundaries),
              static_cast<unsigned long long>(total.runs), static_cast<unsigned long long>(total.fired),
              static_cast<unsigned long long>(total.crashes), seconds_since(start));
  return total.runs > 0 ? 0 : 2;
}

int run_one(const Arguments& arguments) {
  const Scenario& scenario = *find_scenario(arguments.scenario);
  WorldOptions options = options_for(scenario, arguments.setting);
  options.planned = arguments.faults;
  options.prints = arguments.verbose;
  const WorldReport report = run_world(scenario, options);
  std::printf(
      "%s: %llu commit calls (%llu until the end), %llu broken, %llu bundles of at most %llu rows, "
      "%llu runs of activities\n",
      scenario.name.c_str(), static_cast<unsigned long long>(report.calls),
      static_cast<unsigned long long>(report.calls_to_end), static_cast<unsigned long long>(report.fired),
      static_cast<unsigned long long>(report.bundles), static_cast<unsigned long long>(report.rows_max),
      static_cast<unsigned long long>(report.runs));
  for (const auto& [job, text] : report.canonical) std::printf("  %s: %s\n", job.c_str(), text.c_str());
  if (report.violation) return fail({*report.violation, command_for(scenario, arguments.setting, arguments.faults)});
  return 0;
}

int run_swarm(const Arguments& arguments) {
  const auto start = std::chrono::steady_clock::now();
  const bool show = isatty(STDERR_FILENO) != 0 || arguments.verbose;
  SwarmTally tally;
  tally.prints = arguments.verbose && arguments.seeds == 1;
  tally.islands_only = arguments.islands;
  for (std::uint64_t i = 0;; ++i) {
    const bool enough =
        arguments.seconds > 0 ? seconds_since(start) >= static_cast<double>(arguments.seconds) : i >= arguments.seeds;
    if (enough) break;
    run_seed(arguments.first_seed + i, tally);
    if (tally.failure) return fail(*tally.failure);
    if (show && i % 1000 == 999)
      std::fprintf(stderr, "\r%llu seeds, %.0f s", static_cast<unsigned long long>(tally.seeds), seconds_since(start));
  }
  if (show) std::fprintf(stderr, "\n");
  std::printf(
      "swarm: %llu seeds from %llu (%llu run twice, same trace), %llu jobs, %llu runs of "
      "activities, %llu commits, "
      "%llu broken, %llu crashes, %llu reads failed, %llu with islands (%llu letters disturbed), %llu engines came or "
      "went (%llu moves of lanes), %.1f simulated hours, no "
      "violation, %.1f s\n",
      static_cast<unsigned long long>(tally.seeds), static_cast<unsigned long long>(arguments.first_seed),
      static_cast<unsigned long long>(tally.repeated), static_cast<unsigned long long>(tally.jobs),
      static_cast<unsigned long long>(tally.runs), static_cast<unsigned long long>(tally.commits),
      static_cast<unsigned long long>(tally.fired), static_cast<unsigned long long>(tally.crashes),
      static_cast<unsigned long long>(tally.reads_failed), static_cast<unsigned long long>(tally.islands),
      static_cast<unsigned long long>(tally.letters_disturbed), static_cast<unsigned long long>(tally.comings),
      static_cast<unsigned long long>(tally.lane_moves), static_cast<double>(tally.simulated.count()) / 3.6e9,
      seconds_since(start));
  return 0;
}

int run_explorer() {
  const auto start = std::chrono::steady_clock::now();
  std::uint64_t states = 0;
  std::uint64_t transitions = 0;
  for (const ExplorerOptions& options : explorations()) {
    const ExplorerReport report = explore(options);
    const char* fusion = options.fusion == core::Fusion::on ? "fused" : "every step alone";
    if (report.violation)
      return fail({*report.violation, format("build/release/sim/sim --explore   ({}, {} engines, {})", options.graph,
                                             options.engines, fusion)});
    std::printf("%-8s %u engines, %-16s %s%8llu states %9llu transitions %6llu ends\n", options.graph.c_str(),
                options.engines, fusion, report.complete ? "all  " : "first",
                static_cast<unsigned long long>(report.states), static_cast<unsigned long long>(report.transitions),
                static_cast<unsigned long long>(report.ends));
    std::fflush(stdout);
    states += report.states;
    transitions += report.transitions;
  }
  std::printf("explorer: %llu states, %llu transitions, no violation, %.1f s\n",
              static_cast<unsigned long long>(states), static_cast<unsigned long long>(transitions),
              seconds_since(start));
  return 0;
}

int run_soak(const Arguments& arguments) {
  const auto start = std::chrono::steady_clock::now();
  SoakOptions options;
  options.seed = arguments.first_seed;
  options.length = std::chrono::hours(arguments.hours);
  options.jobs_per_hour = arguments.jobs_per_hour;
  options.directory = (std::filesystem::temp_directory_path() / format("pawl-soak-{}", getpid())).string();
  const SoakReport report = run_soak(options);
  std::filesystem::remove_all(options.directory);
  std::printf("   hours       jobs     closed   open  live rows  rows of closed jobs  heap kB  resident kB\n");
  for (const SoakSample& sample : report.samples)
    std::printf("%8.2f %10llu %10llu %6llu %10llu %20llu %8llu %12llu\n",
                static_cast<double>(sample.at.count()) / 3.6e9, static_cast<unsigned long long>(sample.submitted),
                static_cast<unsigned long long>(sample.closed), static_cast<unsigned long long>(sample.open),
                static_cast<unsigned long long>(sample.live_rows), static_cast<unsigned long long>(sample.closed_rows),
                static_cast<unsigned long long>(sample.heap_bytes >> 10),
                static_cast<unsigned long long>(sample.resident_bytes >> 10));
  if (report.violation)
    return fail({*report.violation, format("build/release/sim/sim --soak --hours {} --jobs-per-hour {} --first-seed {}",
                                           arguments.hours, arguments.jobs_per_hour, arguments.first_seed)});
  std::printf(
      "soak: %llu simulated hours, %llu jobs closed, %llu commits, %llu broken, %llu crashes, nothing piled up, "
      "%.1f s\n",
      static_cast<unsigned long long>(arguments.hours), static_cast<unsigned long long>(report.samples.back().closed),
      static_cast<unsigned long long>(report.commits), static_cast<unsigned long long>(report.faults),
      static_cast<unsigned long long>(report.crashes), seconds_since(start));
  return 0;
}

int run(int argc, char** argv) {
  const auto arguments = parse(argc, argv);
  if (!arguments) {
    std::fprintf(
        stderr,
        "usage: sim [--seeds N] [--first-seed S] [--time SECONDS] [--islands] [--verbose]\n"
        "       sim --boundaries | --pairs [--scenario NAME] [--part I/N] [--of graphs|life] [--islands] [--stride N]\n"
        "       sim --explore\n"
        "       sim --soak [--hours H] [--jobs-per-hour N] [--first-seed S]\n"
        "       sim --scenario NAME [--engines E] [--fusion on|off] [--renewals on|off] [--islands LANES] [--fault "
        "KIND:FIRST:CALLS]... [--verbose]\n");
    return 2;
  }
  if (arguments->explore) return run_explorer();
  if (arguments->soak) return run_soak(*arguments);
  if (arguments->boundaries || arguments->pairs) return run_loops(*arguments);
  if (!arguments->scenario.empty()) return run_one(*arguments);
  return run_swarm(*arguments);
}

}  // namespace
}  // namespace pawl::sim

int main(int argc, char** argv) { return pawl::sim::run(argc, argv); }
