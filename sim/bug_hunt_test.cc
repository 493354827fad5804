// Each seeded bug must be caught, and the test says by what. A bug may end the process (an
// invariant) or hang it, so every hunt runs in a child of its own.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <string>

#include "base/format.h"
#include "base/seeded_bug.h"
#include "sim/boundaries.h"
#include "sim/swarm.h"

namespace pawl::sim {
namespace {

constexpr std::uint64_t seeds_first = 200;
constexpr std::uint64_t seeds_max = 3'000;
constexpr unsigned seconds_max = 120;

struct Catch {
  std::string by;  // empty: nothing was found
  std::string how;
};

std::optional<Catch> caught(const char* by, const std::optional<Failure>& failure) {
  if (!failure) return std::nullopt;
  return Catch{format("{}, {}", by, failure->violation.oracle),
               failure->violation.detail + "\n" + failure->command};
}

std::optional<Catch> hunt_seeds(std::uint64_t first, std::uint64_t last) {
  SwarmTally tally;
  for (std::uint64_t seed = first; seed <= last; ++seed) {
    run_seed(seed, tally);
    if (auto found = caught("swarm", tally.failure)) return found;
  }
  return std::nullopt;
}

// A message that is entered again and again: its attempts need more than one digit.
std::optional<Catch> hunt_long_crash_loop() {
  constexpr std::uint64_t lives = 14;
  for (std::uint64_t first = 4; first <= 14; ++first) {
    WorldOptions options = options_for({core::Fusion::off, 1});
    options.reentries_max = 500;
    // Each life takes the lane, enters the message, and dies of it.
    for (std::uint64_t life = 0; life < lives; ++life)
      options.planned.push_back({FaultKind::crash_after, first + 2 * life, 1});
    const WorldReport report = run_world(*find_scenario("chain"), options);
    if (report.violation)
      return Catch{"crash loop, " + report.violation->oracle, report.violation->detail};
  }
  return std::nullopt;
}

// Few slots, so that items wait for one and are claimed later.
std::optional<Catch> hunt_without_faults() {
  for (std::uint64_t seed = 1; seed <= 30; ++seed)
    for (const Scenario& scenario : all_scenarios())
      for (const Setting& setting : all_settings()) {
        WorldOptions options = options_for(setting);
        options.seed = seed;
        options.slots = 1 + static_cast<std::uint32_t>(seed % 3);
        if (seed % 2 == 0) options.hot_jobs_max = 0;  // every idle job is read again
        const WorldReport report = run_world(scenario, options);
        if (report.violation)
          return Catch{"run without a fault, " + report.violation->oracle,
                       report.violation->detail};
      }
  return std::nullopt;
}

Catch hunt() {
  if (auto found = hunt_without_faults()) return *found;
  if (auto found = hunt_long_crash_loop()) return *found;
  if (auto found = hunt_seeds(1, seeds_first)) return *found;
  for (const Scenario& scenario : all_scenarios()) {
    if (!scenario.small) continue;
    Tally tally;
    for (const Setting& setting : all_settings()) {
      break_every_call(scenario, setting, tally);
      if (auto found = caught("boundary loop", tally.failure)) return *found;
    }
  }
  if (auto found = hunt_seeds(seeds_first + 1, seeds_max)) return *found;
  return {};
}

Catch hunt_in_child(SeededBug bug) {
  int ends[2];
  if (pipe(ends) != 0) return {"no pipe", ""};
  const pid_t child = fork();
  if (child == 0) {
    alarm(seconds_max);
    active_seeded_bug = bug;
    if (std::freopen("/dev/null", "w", stderr) == nullptr) _exit(3);
    const Catch found = hunt();
    const std::string text = found.by + "\n" + found.how.substr(0, 300);
    const bool written =
        write(ends[1], text.data(), text.size()) == static_cast<ssize_t>(text.size());
    _exit(written ? 0 : 3);
  }
  close(ends[1]);
  std::string text;
  char buffer[512];
  for (ssize_t n; (n = read(ends[0], buffer, sizeof buffer)) > 0;)
    text.append(buffer, static_cast<std::size_t>(n));
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  if (WIFSIGNALED(status)) {
    if (WTERMSIG(status) == SIGABRT) return {"invariant", "the process stopped itself"};
    if (WTERMSIG(status) == SIGALRM) return {"watchdog", "the run did not end"};
    return {format("signal {}", WTERMSIG(status)), ""};
  }
  const auto line = text.find('\n');
  return {text.substr(0, line), line == std::string::npos ? "" : text.substr(line + 1)};
}

struct Named {
  SeededBug bug;
  const char* name;
};
constexpr Named all_bugs[] = {
    {SeededBug::marker_without_guard, "marker_without_guard"},
    {SeededBug::marker_outside_commit, "marker_outside_commit"},
    {SeededBug::epoch_unchecked, "epoch_unchecked"},
    {SeededBug::epoch_not_raised, "epoch_not_raised"},
    {SeededBug::lease_by_own_clock, "lease_by_own_clock"},
    {SeededBug::fenced_ignored, "fenced_ignored"},
    {SeededBug::unknown_is_committed, "unknown_is_committed"},
    {SeededBug::ack_before_commit, "ack_before_commit"},
    {SeededBug::dispatch_before_commit, "dispatch_before_commit"},
    {SeededBug::semaphore_off_by_one, "semaphore_off_by_one"},
    {SeededBug::lost_child, "lost_child"},
    {SeededBug::snapshot_missing, "snapshot_missing"},
    {SeededBug::completion_refused, "completion_refused"},
    {SeededBug::step3_skipped, "step3_skipped"},
    {SeededBug::plane_from_redeliveries, "plane_from_redeliveries"},
    {SeededBug::attempts_wrap, "attempts_wrap"},
    {SeededBug::response_under_new_id, "response_under_new_id"},
    {SeededBug::stale_worker_accepted, "stale_worker_accepted"},
    {SeededBug::tenant_filter_missing, "tenant_filter_missing"},
    {SeededBug::sweep_forgets_work, "sweep_forgets_work"},
    {SeededBug::consume_forgotten, "consume_forgotten"},
    {SeededBug::no_safety_net, "no_safety_net"},
    {SeededBug::late_renewal_trusted, "late_renewal_trusted"},
    {SeededBug::run_begun_twice, "run_begun_twice"},
    {SeededBug::pending_reply_lost, "pending_reply_lost"},
};

class SeededBugTest : public ::testing::TestWithParam<Named> {};

TEST_P(SeededBugTest, is_caught) {
  const Catch found = hunt_in_child(GetParam().bug);
  EXPECT_FALSE(found.by.empty()) << GetParam().name << " was not caught by anything";
  EXPECT_NE(found.by, "watchdog") << "a hunt that does not end has caught nothing";
  std::printf("  %-26s caught by: %s\n", GetParam().name, found.by.c_str());
}

INSTANTIATE_TEST_SUITE_P(all, SeededBugTest, ::testing::ValuesIn(all_bugs),
                         [](const auto& p) { return std::string(p.param.name); });

// The canary's opposite: the same sources with no bug switched on are clean, so a catch means
// something.
TEST(NoSeededBugTest, nothing_is_caught_when_no_bug_is_on) {
  active_seeded_bug = SeededBug::none;
  const auto calm = hunt_without_faults();
  EXPECT_FALSE(calm.has_value()) << calm->by << ": " << calm->how;
  EXPECT_FALSE(hunt_long_crash_loop().has_value());
  const auto found = hunt_seeds(1, seeds_first);
  EXPECT_FALSE(found.has_value()) << found->by << ": " << found->how;
}

}  // namespace
}  // namespace pawl::sim
