// Each seeded bug must be caught, and the test prints by which oracle. A bug may end the process (an invariant) or hang
// it, so every hunt runs in a separate child process.
#include <gtest/gtest.h>

#include <cstdio>
#include <set>
#include <string>
#include <utility>

#include "base/format.h"
#include "base/seeded_bug.h"
#include "sim/boundaries.h"
#include "sim/bug_child.h"
#include "sim/restore.h"
#include "sim/swarm.h"

namespace pawl::sim {
namespace {

constexpr std::uint64_t seeds_first = 200;
constexpr std::uint64_t seeds_max = 3'000;
constexpr std::uint64_t island_stride = 8;

enum class Where : std::uint8_t { usual, islands, comings };  // only where lanes are islands, or engines come and go

std::optional<Catch> caught(const char* by, const std::optional<Failure>& failure) {
  if (!failure) return std::nullopt;
  return Catch{format("{}, {}", by, failure->violation.oracle), failure->violation.detail + "\n" + failure->command};
}

std::optional<Catch> hunt_seeds(std::uint64_t first, std::uint64_t last) {
  SwarmTally tally;
  for (std::uint64_t seed = first; seed <= last; ++seed) {
    run_seed(seed, tally);
    if (auto found = caught("swarm", tally.failure)) return found;
  }
  return std::nullopt;
}

// A message that is entered again and again: its count needs more than one digit.
std::optional<Catch> hunt_long_crash_loop() {
  constexpr std::uint64_t lives = 14;
  for (std::uint64_t first = 4; first <= 16; ++first) {
    WorldOptions options = options_for({core::Fusion::off, 1});
    options.reentries_max = 500;
    // Each process reports itself, takes the lane, enters the message, and dies of it.
    for (std::uint64_t life = 0; life < lives; ++life)
      options.planned.push_back({FaultKind::crash_after, first + 3 * life, 1});
    const WorldReport report = run_world(*find_scenario("chain"), options);
    if (report.violation) return Catch{"crash loop, " + report.violation->oracle, report.violation->detail};
  }
  return std::nullopt;
}

// Few slots, so that items wait for one and are claimed later.
std::optional<Catch> hunt_without_faults() {
  for (std::uint64_t seed = 1; seed <= 30; ++seed)
    for (const Scenario& scenario : all_scenarios())
      for (const Setting& setting : settings_for(scenario)) {
        WorldOptions options = options_for(scenario, setting);
        options.seed = seed;
        options.slots = 1 + static_cast<std::uint32_t>(seed % 3);
        if (seed % 2 == 0) options.hot_jobs_max = 0;  // every idle job is read again
        const WorldReport report = run_world(scenario, options);
        if (report.violation)
          return Catch{scenario.name + " without a fault, " + report.violation->oracle, report.violation->detail};
      }
  return std::nullopt;
}

Catch hunt() {
  if (auto found = hunt_seeds(1, seeds_first)) return *found;  // the cheapest first
  if (auto found = hunt_long_crash_loop()) return *found;
  if (auto found = hunt_without_faults()) return *found;
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

Catch hunt_comings(const Scenario& scenario) {
  for (const Ends ends : {Ends::none, Ends::some})
    for (std::uint64_t seed = 1; seed <= 100; ++seed) {
      const WorldReport report = run_world(scenario, draw_comings(seed, ends));
      if (report.violation)
        return {scenario.name + " while engines come and go, " + report.violation->oracle, report.violation->detail};
    }
  return {};
}

// A bug in one part of a job's life shows in the scenario for that part: first in different orders, then with a fault
// at every commit.
Catch hunt_in(const Scenario& scenario, Where where = Where::usual) {
  if (where == Where::comings) return hunt_comings(scenario);
  const std::vector<Setting>& settings = where == Where::islands ? island_settings() : settings_for(scenario);
  for (const Setting& setting : settings)
    for (std::uint64_t seed = 1; seed <= 10; ++seed) {
      WorldOptions options = options_for(scenario, setting);
      options.seed = seed;
      options.slots = 1 + static_cast<std::uint32_t>(seed % 3);
      const WorldReport report = run_world(scenario, options);
      if (report.violation)
        return {scenario.name + " without a fault, " + report.violation->oracle, report.violation->detail};
    }
  Tally tally;
  for (const Setting& setting : settings) {
    break_every_call(scenario, setting, tally, where == Where::islands ? island_stride : 1);
    if (auto found = caught((scenario.name + ", a fault at every commit").c_str(), tally.failure)) return *found;
  }
  return {};
}

// A copy of the store is put back, as it was after each single commit.
Catch hunt_restores() {
  for (const std::string& name : restore_scenarios())
    for (std::uint64_t copy_at = 0, commits = 1; copy_at <= commits; ++copy_at) {
      const RestoreReport report = restore_at(*find_scenario(name), core::Fusion::on, copy_at);
      if (report.violation)
        return {format("{} restored, {}", name, report.violation->oracle), report.violation->detail};
      commits = report.commits;
    }
  return {};
}

struct Named {
  SeededBug bug;
  const char* name;
  const char* scenario = nullptr;  // none: hunted everywhere
  Where where = Where::usual;
};
constexpr Named all_bugs[] = {
    {SeededBug::marker_without_guard, "marker_without_guard"},
    {SeededBug::marker_outside_commit, "marker_outside_commit"},
    {SeededBug::epoch_unchecked, "epoch_unchecked"},
    {SeededBug::first_step_for_another, "first_step_for_another"},
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
    {SeededBug::at_most_once_twice, "at_most_once_twice", "once_calm"},
    {SeededBug::try_not_counted, "try_not_counted", "tries_until_success"},
    {SeededBug::try_counted_twice, "try_counted_twice", "tries_until_success"},
    {SeededBug::stale_try_counted, "stale_try_counted", "attempt_timeout"},
    {SeededBug::held_work_handed_out, "held_work_handed_out", "pause_resume"},
    {SeededBug::paused_answer_dropped, "paused_answer_dropped", "pause_resume"},
    {SeededBug::given_answer_dropped, "given_answer_dropped", "answered_while_paused"},
    {SeededBug::given_answer_comes_late, "given_answer_comes_late", "answered_while_paused"},
    {SeededBug::timer_early, "timer_early", "job_deadline"},
    {SeededBug::timer_forgotten, "timer_forgotten", "delayed_start"},
    {SeededBug::deadline_left_behind, "deadline_left_behind", "job_deadline_met"},
    {SeededBug::removal_leaves_rows, "removal_leaves_rows", "removed"},
    {SeededBug::replaced_runs_on, "replaced_runs_on", "replaced"},
    {SeededBug::redrive_keeps_limits, "redrive_keeps_limits", "tries_run_out_redriven"},
    {SeededBug::paused_topic_handed_out, "paused_topic_handed_out", "topic_paused"},
    {SeededBug::cancel_not_told, "cancel_not_told", "interrupt"},
    {SeededBug::progress_overwritten, "progress_overwritten", "heartbeat_timeout"},
    {SeededBug::attempt_clock_at_claim, "attempt_clock_at_claim", "attempts_behind_a_queue"},
    {SeededBug::attempt_clock_not_begun, "attempt_clock_not_begun", "attempt_timeout"},
    {SeededBug::stop_counts_as_crash, "stop_counts_as_crash", "attempts_behind_a_queue"},
    {SeededBug::once_claimed_ahead, "once_claimed_ahead", "once_behind_a_queue"},
    {SeededBug::answer_outlives_its_transaction, "answer_outlives_its_transaction", "transaction"},
    {SeededBug::effect_before_guards, "effect_before_guards", "transaction"},
    {SeededBug::far_reply_acked_early, "far_reply_acked_early", "far_steps"},
    {SeededBug::far_failure_unstored, "far_failure_unstored", "far_tries_until_success"},
    {SeededBug::far_work_before_commit, "far_work_before_commit", "far_steps"},
    {SeededBug::outbox_row_taken_twice, "outbox_row_taken_twice", "await_success"},
    {SeededBug::outbox_row_lost, "outbox_row_lost", "await_success"},
    {SeededBug::outbox_left_behind, "outbox_left_behind", "await_success"},
    {SeededBug::outbox_numbers_shared, "outbox_numbers_shared", "signal_to_all", Where::islands},
    {SeededBug::outbox_gap_taken, "outbox_gap_taken", "signal_to_all", Where::islands},
    {SeededBug::outbox_dropped_early, "outbox_dropped_early", "await_success", Where::islands},
    {SeededBug::refusal_lost, "refusal_lost", "await_id_taken"},
    {SeededBug::lane_crossed, "lane_crossed", "await_id_taken", Where::islands},
    {SeededBug::share_not_given_back, "share_not_given_back", "mixed", Where::comings},
    {SeededBug::dead_share_left, "dead_share_left", "mixed", Where::comings},
    {SeededBug::lane_cut_off, "lane_cut_off", "mixed", Where::comings},
    {SeededBug::mailbox_left_behind, "mailbox_left_behind", "hook_then_signal"},
    {SeededBug::registration_lost, "registration_lost", "hook_then_signal"},
    {SeededBug::early_signal_lost, "early_signal_lost", "signal_then_hook"},
    {SeededBug::mailbox_resumes_twice, "mailbox_resumes_twice", "pending_signals"},
    {SeededBug::withdraw_not_sent, "withdraw_not_sent", "signal_too_late"},
    {SeededBug::withdraw_ignored, "withdraw_ignored", "signal_too_late"},
    {SeededBug::offer_forgotten, "offer_forgotten", "signal_between_two_hooks"},
    {SeededBug::signal_not_given_back, "signal_not_given_back", "signal_between_two_hooks"},
    {SeededBug::taken_not_told, "taken_not_told", "hook_then_signal"},
    {SeededBug::taken_signal_given_back, "taken_signal_given_back", "hook_then_signal"},
    {SeededBug::signal_id_forgotten, "signal_id_forgotten", "hook_then_signal"},
    {SeededBug::timer_outlives_signal, "timer_outlives_signal", "signal_wakes_sleeper"},
    {SeededBug::child_takes_id, "child_takes_id", "await_id_taken"},
    {SeededBug::two_successors, "two_successors", "failed_goes_on"},
    {SeededBug::cancel_undoes_nothing, "cancel_undoes_nothing", "cancelled"},
    {SeededBug::answers_not_carried, "answers_not_carried", "failed_goes_on"},
    {SeededBug::child_end_not_told, "child_end_not_told", "await_success"},
    {SeededBug::end_does_not_descend, "end_does_not_descend", "interrupt_descends"},
    {SeededBug::page_told_again, "page_told_again", "signal_to_all"},
    {SeededBug::end_not_announced, "end_not_announced", "signal_to_all"},
    {SeededBug::measured_twice, "measured_twice", "signal_to_all"},
    {SeededBug::bytes_not_counted, "bytes_not_counted"},
    {SeededBug::clock_followed_back, "clock_followed_back", "clock_set_back"},
    {SeededBug::never_pauses, "never_pauses", "never_pauses"},
};

class SeededBugTest : public ::testing::TestWithParam<Named> {};

TEST_P(SeededBugTest, is_caught) {
  const char* where = GetParam().scenario;
  ASSERT_TRUE(where == nullptr || find_scenario(where) != nullptr);
  const Catch found =
      hunt_in_child(GetParam().bug, [&] { return where ? hunt_in(*find_scenario(where), GetParam().where) : hunt(); });
  EXPECT_FALSE(found.by.empty()) << GetParam().name << " was not caught by anything";
  EXPECT_NE(found.by, "watchdog") << "a hunt that does not end has caught nothing";
  std::printf("  %-26s caught by: %s\n", GetParam().name, found.by.c_str());
}

TEST(RestoreBugTest, key_from_run_number_is_caught) {
  const Catch found = hunt_in_child(SeededBug::key_from_run_number, hunt_restores);
  EXPECT_FALSE(found.by.empty()) << "key_from_run_number was not caught by anything";
  std::printf("  %-26s caught by: %s\n", "key_from_run_number", found.by.c_str());
}

INSTANTIATE_TEST_SUITE_P(all, SeededBugTest, ::testing::ValuesIn(all_bugs),
                         [](const auto& p) { return std::string(p.param.name); });

// The same sources without any bug switched on must be clean. Otherwise a catch would mean nothing.
TEST(NoSeededBugTest, nothing_is_caught_when_no_bug_is_on) {
  active_seeded_bug = SeededBug::none;
  const auto calm = hunt_without_faults();
  EXPECT_FALSE(calm.has_value()) << calm->by << ": " << calm->how;
  EXPECT_FALSE(hunt_long_crash_loop().has_value());
  const Catch restored = hunt_restores();
  EXPECT_TRUE(restored.by.empty()) << restored.by << ": " << restored.how;
  const auto found = hunt_seeds(1, seeds_first);
  EXPECT_FALSE(found.has_value()) << found->by << ": " << found->how;
  std::set<std::pair<std::string, Where>> hunted;
  for (const Named& named : all_bugs) {
    if (named.scenario == nullptr || !hunted.insert({named.scenario, named.where}).second) continue;
    const Catch in_life = hunt_in(*find_scenario(named.scenario), named.where);
    EXPECT_TRUE(in_life.by.empty()) << in_life.by << ": " << in_life.how;
  }
}

}  // namespace
}  // namespace pawl::sim
