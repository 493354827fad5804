// The simulator's own parts, fused against unfused, and the harness applied to itself.
#include <gtest/gtest.h>

#include <algorithm>

#include "base/format.h"
#include "sim/boundaries.h"
#include "sim/clock.h"
#include "sim/explorer.h"
#include "sim/model.h"
#include "sim/restore.h"
#include "sim/swarm.h"
#include "sim/watch_store.h"
#include "store/forward_store.h"

namespace pawl::sim {
namespace {

// Every scenario, one engine and two: step by step and fused end in the same ledgers (attempts
// masked).
TEST(FusionTest, both_modes_end_in_the_same_ledgers_over_all_scenarios) {
  std::size_t compared = 0;
  std::size_t wanted = 0;
  std::size_t first_steps = 0;
  for (const Scenario& scenario : all_scenarios())
    for (const std::uint32_t engines : {1u, 2u})
      for (std::uint64_t seed = 1; seed <= 20; ++seed) {
        WorldOptions options = options_for(scenario, {core::Fusion::on, engines});
        options.seed = seed;
        const WorldReport fused = run_world(scenario, options);
        options.fusion = core::Fusion::off;
        const WorldReport alone = run_world(scenario, options);
        ASSERT_FALSE(fused.violation) << scenario.name << ": " << fused.violation->detail;
        ASSERT_FALSE(alone.violation) << scenario.name << ": " << alone.violation->detail;
        // Two ends are correct, and fewer commits may be faster: each simulation was judged alone.
        if (std::any_of(scenario.ends.begin(), scenario.ends.end(), [](const JobEnd& end) { return end.or_else; }))
          continue;
        ASSERT_EQ(fused.canonical, alone.canonical) << scenario.name;
        compared += fused.canonical.size();  // removed jobs cannot be compared
        wanted += scenario.jobs.size();
        ASSERT_LE(fused.bundles, alone.bundles);
        first_steps += fused.first_steps;
        ASSERT_EQ(alone.first_steps, 0u);
      }
  EXPECT_GT(first_steps, 200u) << "jobs that come when the engine has its lanes begin in the group of their submit";
  EXPECT_GT(compared * 10, wanted * 8) << "most jobs must be there to be compared";
}

// The budget: one commit and at most seven rows for each worker activity of a chain.
TEST(FusionTest, a_worker_activity_of_a_chain_costs_one_commit_and_at_most_seven_rows) {
  Scenario scenario = *find_scenario("deep_chain");
  scenario.jobs.front().at = std::chrono::milliseconds(100);  // the engine has its lanes by then
  const WorldReport report = run_world(scenario, options_for({core::Fusion::on, 1}));
  ASSERT_FALSE(report.violation);
  EXPECT_EQ(report.runs, 24u);
  EXPECT_EQ(report.bundles, report.runs + 1);  // one more for the trigger
  EXPECT_LE(report.rows_max, 7u);
}

TEST(WorldTest, the_same_seed_gives_the_same_trace_and_another_seed_another) {
  const auto first = draw_case(7);
  const auto other = draw_case(8);
  const auto trace = run_world(first->scenario, first->options).trace;
  EXPECT_EQ(trace, run_world(draw_case(7)->scenario, first->options).trace);
  EXPECT_NE(trace, run_world(other->scenario, other->options).trace);
}

TEST(WorldTest, a_run_without_faults_runs_every_request_exactly_once) {
  for (const Scenario& scenario : all_scenarios()) {
    if (scenario.poisoned) continue;
    const WorldReport report = run_world(scenario, options_for(scenario, {core::Fusion::on, 2}));
    EXPECT_FALSE(report.violation) << scenario.name << ": " << report.violation->detail;
    EXPECT_EQ(report.fired, 0u);
  }
}

// Otherwise the checks of lanes and outboxes would only cover one lane.
TEST(WorldTest, jobs_of_the_graph_language_send_to_other_lanes) {
  std::size_t senders = 0;
  for (const Scenario& scenario : all_scenarios()) {
    if (!scenario.is_graphs()) continue;
    const WorldReport report = run_world(scenario, options_for(scenario, {core::Fusion::on, 3}));
    ASSERT_FALSE(report.violation) << scenario.name << ": " << report.violation->detail;
    const bool family = scenario.name.starts_with("await") || scenario.name.find("signal") != std::string::npos ||
                        scenario.name == "interrupt_descends";
    if (!family) continue;
    EXPECT_GT(report.sent_across, 0u) << scenario.name;
    ++senders;
  }
  EXPECT_GE(senders, 15u);
}

// Every lane a separate node: parts of a group are answered one by one, and messages between lanes are lost or
// repeated.
TEST(WorldTest, all_scenarios_end_on_lanes_that_are_islands) {
  std::uint64_t letters = 0;
  std::uint64_t sent = 0;
  for (const Scenario& scenario : all_scenarios())
    for (const Setting& setting : island_settings()) {
      const WorldReport report = run_world(scenario, options_for(scenario, setting));
      ASSERT_FALSE(report.violation) << scenario.name << " " << setting.islands << ": " << report.violation->detail;
      letters += report.letters_disturbed;
      sent += report.sent_across;
    }
  EXPECT_GT(letters, 20u) << "letters that all arrive in order prove nothing";
  EXPECT_GT(sent, 300u);
}

// Each message is lost, comes twice or out of order as often as possible: what is sent must still arrive once.
TEST(WorldTest, letters_between_islands_may_all_go_astray) {
  std::uint64_t letters = 0;
  for (const Scenario& scenario : all_scenarios()) {
    if (!scenario.is_graphs()) continue;
    WorldOptions options = options_for(scenario, island_settings().front());
    options.rates.letters_per_thousand = 900;
    options.rates.letters_max = 200;
    const WorldReport report = run_world(scenario, options);
    ASSERT_FALSE(report.violation) << scenario.name << ": " << report.violation->detail;
    letters += report.letters_disturbed;
  }
  EXPECT_GT(letters, 100u);
}

// One to five engines, four to sixteen lanes: no lane is without an owner for long, and at the end each engine has its
// share.
TEST(SharesTest, lanes_are_shared_while_engines_come_and_go) {
  const Scenario& scenario = *find_scenario("mixed");
  std::uint64_t comings = 0, moves = 0;
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    const WorldOptions options = draw_comings(seed, Ends::some);
    const WorldReport report = run_world(scenario, options);
    ASSERT_FALSE(report.violation) << "seed " << seed << ": " << report.violation->oracle << ": "
                                   << report.violation->detail;
    comings += report.comings;
    moves += report.lane_moves;
    Duration last{0};
    for (const Coming& coming : options.comings) last = std::max(last, coming.at);
    // Work in progress is finished first, and a dead engine is noticed when its lease is over.
    EXPECT_LE(report.lanes_settled, last + 2 * options.lease + 8 * options.work_max) << "seed " << seed;
  }
  EXPECT_GT(comings, 300u);
  EXPECT_GT(moves, comings);
}

// A lane changes owners between two pieces of work, not during one: without a fault each runs once.
TEST(SharesTest, who_joins_interrupts_no_work) {
  std::uint64_t moves = 0;
  for (const char* name : {"mixed", "deep_chain", "fan_out_then_chain", "once_calm", "await_success"})
    for (std::uint64_t seed = 1; seed <= 60; ++seed) {
      const Scenario& scenario = *find_scenario(name);
      const WorldReport report = run_world(scenario, draw_comings(seed, Ends::none));
      ASSERT_FALSE(report.violation) << name << ", seed " << seed << ": " << report.violation->oracle << ": "
                                     << report.violation->detail;
      moves += report.lane_moves;
    }
  EXPECT_GT(moves, 500u);
}

// A renewal whose answer came after the lease made the engine forget what its lane still had to send.
TEST(WorldTest, what_waits_to_be_sent_is_not_forgotten_when_a_renewal_is_answered_late) {
  const Scenario& scenario = *find_scenario("signal_then_hook");
  WorldOptions options = options_for(scenario, {core::Fusion::on, 3});
  options.planned = {{FaultKind::late_reply, 10, 1}};
  const WorldReport report = run_world(scenario, options);
  EXPECT_FALSE(report.violation) << report.violation->detail;
}

// A child that was refused because its parent's other child has the id: the other child must not be ended.
TEST(WorldTest, a_refused_child_does_not_end_the_one_that_has_its_id) {
  const Scenario& scenario = *find_scenario("await_id_taken");
  const WorldReport report = run_world(scenario, options_for(scenario, {core::Fusion::on, 2}));
  ASSERT_FALSE(report.violation) << report.violation->detail;
  EXPECT_TRUE(report.canonical.at("job c-1").starts_with("completed"));
}

// A row that no store can have written, at any moment of a job's life: its job is parked, this is reported once, and
// all other jobs end.
TEST(WorldTest, a_damaged_job_is_parked_once_and_the_others_end) {
  const Scenario& scenario = *find_scenario("mixed");
  std::size_t damaged = 0;
  for (int at = 0; at < 60; ++at)
    for (const std::size_t hot : {std::size_t{0}, std::size_t{1000}})
      for (const bool crashes : {false, true}) {
        WorldOptions options = options_for(scenario, {core::Fusion::on, 1});
        options.hot_jobs_max = hot;
        options.damaged = scenario.jobs.front().id;
        options.damage_at = std::chrono::microseconds(500) * at;
        if (crashes) options.planned = {{FaultKind::crash_after, static_cast<std::uint64_t>(3 + at / 4), 1}};
        const WorldReport report = run_world(scenario, options);
        ASSERT_FALSE(report.violation) << at << ": " << report.violation->detail;
        for (const auto& [name, end] : report.canonical)
          if (end == "damaged") ++damaged;
        if (crashes) continue;
        ASSERT_LE(report.damage_said, 2u) << "once that it is, once that it is parked";
      }
  EXPECT_GT(damaged, 20u);
}

TEST(WorldTest, a_job_that_never_pauses_can_be_ended_whatever_breaks) {
  const Scenario& scenario = *find_scenario("never_pauses");
  for (const FaultKind kind :
       {FaultKind::crash_before, FaultKind::crash_after, FaultKind::refused, FaultKind::reply_lost})
    for (std::uint64_t first = 1; first <= 12; ++first) {
      WorldOptions options = options_for(scenario, {core::Fusion::on, 1});
      options.renewals = false;
      options.latency_max =
          std::chrono::milliseconds(4);  // fewer turns until a request is repeated: each turn costs more than the last
      options.planned = {{kind, first, 1}};
      const WorldReport report = run_world(scenario, options);
      ASSERT_FALSE(report.violation) << name_of(kind) << " " << first << ": " << report.violation->detail;
    }
}

// As with SQLite: without renewals nothing is scanned again. The owner learns of other commits by a notification or,
// when one is lost, by the gap that it leaves.
TEST(WorldTest, without_renewals_a_lost_ring_is_noticed) {
  std::uint64_t lost = 0;
  for (const Scenario& scenario : all_scenarios())
    for (std::uint64_t seed = 1; seed <= 3; ++seed) {
      WorldOptions options = options_for(scenario, {core::Fusion::on, 1});
      options.seed = seed;
      options.renewals = false;
      options.guests = true;
      options.rates.bells_lost_per_thousand = 500;
      options.heal_at = std::chrono::seconds(2);
      const WorldReport report = run_world(scenario, options);
      ASSERT_FALSE(report.violation) << scenario.name << ", seed " << seed << ": " << report.violation->detail;
      lost += report.bells_lost;
    }
  EXPECT_GT(lost, 50u);
}

TEST(WorldTest, a_poisoned_job_is_parked_and_the_others_end) {
  const WorldReport report = run_world(*find_scenario("poison"), options_for({core::Fusion::on, 1}));
  ASSERT_FALSE(report.violation) << report.violation->detail;
  EXPECT_EQ(report.canonical.at("job default/bad"), "parked");
  EXPECT_NE(report.canonical.at("job default/good"), "parked");
  EXPECT_LE(report.crashes, 10u);
}

TEST(EngineClockTest, a_wake_on_a_drifting_clock_is_never_too_early) {
  VirtualClock base;
  for (const std::int64_t drift : {-50'000, -1, 0, 1, 50'000}) {
    const EngineClock clock(base, {drift, std::chrono::minutes(3), {}});
    for (const std::int64_t own : {180'000'001LL, 200'000'000LL, 3'600'000'000LL}) {
      base.set(clock.world_time_of(Duration(own)));
      EXPECT_GE(clock.monotonic().count(), own) << drift;
      EXPECT_LE(clock.monotonic().count(), own + 3) << drift;
    }
  }
}

TEST(ModelTest, an_error_that_no_edge_catches_fails_the_job_and_a_caught_one_does_not) {
  const Scenario& any = all_scenarios().front();
  EXPECT_EQ(expect(any, {.id = "x", .graph = "uncaught"}).end, Expected::End::failed);
  EXPECT_EQ(expect(any, {.id = "x", .graph = "caught"}).end, Expected::End::completed);
  EXPECT_NE(expect(any, {.id = "x", .graph = "caught"}).canonical.find("refund"), std::string::npos);
  EXPECT_EQ(expect(any, {.id = "x", .graph = "caught"}).canonical.find("ok("), std::string::npos);
}

// A store that accepts everything: the oracles must report it.
class YesStore final : public store::ForwardStore {
 public:
  using store::ForwardStore::ForwardStore;
  Result<std::vector<store::Outcome>> commit(std::span<const store::Operation> group) override {
    auto result = inner_.commit(group);
    if (result)
      for (store::Outcome& outcome : *result)
        if (outcome.kind != store::OutcomeKind::committed) outcome.kind = store::OutcomeKind::committed;
    return result;
  }
};

TEST(WatchStoreTest, a_store_that_says_yes_to_a_second_start_and_a_stolen_lane_is_caught) {
  VirtualClock clock;
  store::memory::Store memory(clock);
  YesStore yes(memory);
  Journal journal;
  TraceHash trace;
  const auto watched = [&](const std::vector<store::Operation>& group) {
    Verdict verdict;
    WatchStore watch(yes, journal, verdict, trace);
    EXPECT_TRUE(watch.commit(group).ok());
    return verdict.ok() ? std::string() : verdict.violation()->oracle;
  };
  EXPECT_EQ(watched({store::OpenPool{Pool("p"), 1}}), "");
  store::Submit submit;
  submit.id = JobId("j");
  submit.lane = core::LaneId(1);
  EXPECT_EQ(watched({submit, submit}), "identity");
  const store::AcquireLane mine{core::LaneId(1), "mine", std::chrono::seconds(1)};
  const store::AcquireLane yours{core::LaneId(1), "yours", std::chrono::seconds(1)};
  EXPECT_EQ(watched({mine, yours}), "lease");
}

// Every commit is one from which a copy of the store may be.
TEST(RestoreTest, no_key_or_token_names_two_pieces_of_work_whatever_copy_is_put_back) {
  std::uint64_t works = 0, repeated = 0, runs = 0;
  for (const std::string& name : restore_scenarios())
    for (const core::Fusion fusion : {core::Fusion::on, core::Fusion::off})
      for (std::uint64_t copy_at = 0, commits = 1; copy_at <= commits; ++copy_at) {
        const RestoreReport report = restore_at(*find_scenario(name), fusion, copy_at);
        ASSERT_FALSE(report.violation) << name << ", copied after commit " << copy_at << ": "
                                       << report.violation->oracle << ": " << report.violation->detail;
        commits = report.commits;
        works += report.works;
        repeated += report.repeated;
        ++runs;
      }
  EXPECT_GT(repeated, 0u) << "no job that the copy knew asked for its work again";
  EXPECT_GT(works, repeated);
  std::printf("restores: %llu copies put back, %llu pieces of work, %llu of them once more under their own key\n",
              static_cast<unsigned long long>(runs), static_cast<unsigned long long>(works),
              static_cast<unsigned long long>(repeated));
}

TEST(SwarmTest, a_hundred_seeds_hold) {
  SwarmTally tally;
  for (std::uint64_t seed = 1'000'000; seed < 1'000'100; ++seed) {
    run_seed(seed, tally);
    ASSERT_FALSE(tally.failure) << tally.failure->violation.detail << "\n" << tally.failure->command;
  }
  EXPECT_GT(tally.fired, 100u);  // a swarm that breaks nothing proves nothing
  EXPECT_GT(tally.islands, 15u);
  EXPECT_EQ(tally.repeated, 5u);
}

TEST(ExplorerTest, the_smallest_protocol_has_no_bad_state_and_can_always_end) {
  const ExplorerReport report =
      explore({.graph = "only", .engines = 2, .fusion = core::Fusion::off, .lost_replies = 0, .states_max = 400'000});
  EXPECT_FALSE(report.violation) << report.violation->oracle << ": " << report.violation->detail;
  EXPECT_TRUE(report.complete);
  EXPECT_GT(report.states, 100u);
  EXPECT_GT(report.ends, 0u);
}

}  // namespace
}  // namespace pawl::sim
