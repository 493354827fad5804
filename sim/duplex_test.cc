// Duplex jobs under faults: at every operation, at pairs, at random.
#include <gtest/gtest.h>

#include <cstdio>

#include "sim/duplex_boundaries.h"

namespace pawl::sim {
namespace {

void expect_clean(const DuplexTally& tally) {
  ASSERT_FALSE(tally.violation) << tally.violation->oracle << ": " << tally.violation->detail << "\n  " << tally.how;
}

void print(const char* what, const DuplexTally& tally) {
  std::printf(
      "  %s: %llu operations, %llu runs, %llu struck, %llu crashes; verdict 799 %llu times, 789 %llu times, "
      "%llu entries taken back\n",
      what, static_cast<unsigned long long>(tally.boundaries), static_cast<unsigned long long>(tally.runs),
      static_cast<unsigned long long>(tally.fired), static_cast<unsigned long long>(tally.crashes),
      static_cast<unsigned long long>(tally.figures.reruns), static_cast<unsigned long long>(tally.figures.verified),
      static_cast<unsigned long long>(tally.figures.undone));
}

TEST(DuplexTest, every_scenario_ends_as_the_model_says_when_nothing_fails) {
  for (const DuplexScenario& scenario : duplex_scenarios())
    for (std::uint64_t seed = 0; seed < 50; ++seed) {
      const DuplexReport report = run_duplex(scenario, {seed, {}, 0, 0});
      ASSERT_FALSE(report.violation) << scenario.name << ", seed " << seed << ": " << report.violation->oracle << ": "
                                     << report.violation->detail;
      EXPECT_EQ(report.figures.reruns + report.figures.verified, 0u) << "nothing crashed";
    }
}

TEST(DuplexTest, the_same_seed_gives_the_same_operations) {
  const DuplexScenario& scenario = duplex_scenarios().back();
  const DuplexWorldOptions options{9, {}, 50, 8};
  EXPECT_EQ(run_duplex(scenario, options).trace, run_duplex(scenario, options).trace);
  EXPECT_NE(run_duplex(scenario, options).trace, run_duplex(scenario, {10, {}, 50, 8}).trace);
}

TEST(DuplexTest, a_fault_at_every_operation_once_and_repeated_changes_no_end) {
  DuplexTally tally;
  for (const DuplexScenario& scenario : duplex_scenarios())
    for (std::uint64_t seed = 0; seed < 3; ++seed) {
      break_every_operation(scenario, seed, tally);
      expect_clean(tally);
      if (HasFatalFailure()) return;
    }
  print("every operation", tally);
  // If no crash led to either verdict, the test would show nothing about them.
  EXPECT_GT(tally.figures.reruns, 0u);
  EXPECT_GT(tally.figures.verified, 0u);
  EXPECT_GT(tally.figures.undone, 0u);
}

TEST(DuplexTest, a_fault_at_every_pair_of_operations_changes_no_end) {
  DuplexTally tally;
  for (const DuplexScenario& scenario : duplex_scenarios()) {
    if (!scenario.small) continue;
    break_every_pair_of_operations(scenario, tally);
    expect_clean(tally);
    if (HasFatalFailure()) return;
  }
  print("every pair", tally);
}

TEST(DuplexTest, faults_at_random_change_no_end) {
  DuplexTally tally;
  for (const DuplexScenario& scenario : duplex_scenarios()) {
    break_at_random(scenario, 1, 1500, tally);
    expect_clean(tally);
    if (HasFatalFailure()) return;
  }
  print("random", tally);
  EXPECT_GT(tally.fired, tally.runs) << "a swarm that breaks nothing proves nothing";
}

}  // namespace
}  // namespace pawl::sim
