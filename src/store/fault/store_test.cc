#include "store/fault/store.h"

#include <gtest/gtest.h>

#include "store/conformance/conformance.h"
#include "store/memory/store.h"

namespace pawl::store::fault {

namespace {

// A memory store behind a plan, and a group of a bundle and a submit that shows what was applied.
class Faults : public testing::Test {
 protected:
  Faults() : inner_(clock_) {
    const std::vector<Operation> start = {
        OpenPool{Pool("graphs"), 1}, AcquireLane{core::LaneId(1), "engine-a", std::chrono::seconds(30)}, submit("a")};
    const auto outcomes = inner_.commit(start);
    run_ = outcomes->back().run();
    core::Bundle bundle;
    bundle.entity = run_;
    bundle.epoch = (*outcomes)[1].epoch();
    bundle.id = core::BundleId(9);
    bundle.head = core::JobHead{};
    group_ = {submit("b"), bundle, submit("c")};
  }
  Submit submit(const std::string& id) {
    return Submit{Namespace("default"), JobId(id), core::LaneId(1), {GraphName("g"), 1, 1}, "", clock_.now()};
  }
  bool bundle_applied() { return (*inner_.read_job(run_))->state.job.rev == core::Rev(1); }
  bool submitted(const std::string& id) { return inner_.find_run(Namespace("default"), JobId(id))->has_value(); }
  static Options on_first(Fault fault) {
    Options options;
    options.plan = at_call(1, fault);
    return options;
  }

  ManualClock clock_;
  memory::Store inner_;
  RunId run_{0};
  std::vector<Operation> group_;
};

TEST_F(Faults, an_error_before_applies_nothing_and_says_try_later) {
  Store store(inner_, on_first({Kind::error_before}));
  const auto failed = store.commit(group_);
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().code, ErrorCode::retry_later);
  EXPECT_FALSE(bundle_applied() || submitted("b") || submitted("c"));
}

TEST_F(Faults, an_error_after_applies_everything_and_says_unknown) {
  Store store(inner_, on_first({Kind::error_after}));
  const auto failed = store.commit(group_);
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().code, ErrorCode::outcome_unknown);
  EXPECT_TRUE(bundle_applied() && submitted("b") && submitted("c"));
}

TEST_F(Faults, a_drop_midway_applies_exactly_the_prefix) {
  Store store(inner_, on_first({Kind::drop_midway, 1}));
  const auto failed = store.commit(group_);
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().code, ErrorCode::outcome_unknown);
  EXPECT_TRUE(submitted("b"));
  EXPECT_FALSE(bundle_applied() || submitted("c"));
}

TEST_F(Faults, a_drop_beyond_the_group_is_a_lost_reply) {
  Store store(inner_, on_first({Kind::drop_midway, 99}));
  EXPECT_FALSE(store.commit(group_));
  EXPECT_TRUE(bundle_applied() && submitted("b") && submitted("c"));
}

TEST_F(Faults, a_fence_stops_what_an_epoch_guards_and_nothing_else) {
  const core::Epoch epoch = std::get<core::Bundle>(group_[1]).epoch;
  group_.emplace_back(RenewLane{core::LaneId(1), epoch, std::chrono::seconds(1)});
  group_.emplace_back(DropOutbox{core::LaneId(1), epoch, core::LaneId(1), 0});
  group_.emplace_back(ClaimItem{run_, core::ActivitySeq(0), core::WorkToken(0), "w", epoch});
  group_.emplace_back(ReleaseLane{core::LaneId(1), epoch});
  group_.emplace_back(RemoveJob{RunId(4711), Instant()});
  group_.emplace_back(DropKeys{clock_.now(), 1});
  group_.emplace_back(PauseTopic{Topic("t"), true});
  Store store(inner_, on_first({Kind::fence}));
  const auto outcomes = store.commit(group_);
  ASSERT_TRUE(outcomes);
  const std::vector<OutcomeKind> expected = {OutcomeKind::committed, OutcomeKind::fenced,       OutcomeKind::committed,
                                             OutcomeKind::fenced,    OutcomeKind::fenced,       OutcomeKind::fenced,
                                             OutcomeKind::fenced,    OutcomeKind::already_done, OutcomeKind::committed,
                                             OutcomeKind::committed};
  ASSERT_EQ(outcomes->size(), expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) EXPECT_EQ((*outcomes)[i].kind, expected[i]) << i;
  EXPECT_NE((*outcomes)[2].run(), RunId(0)) << "outcomes must stay with their operations";
  EXPECT_FALSE(bundle_applied());
  EXPECT_EQ(inner_.read_lane(core::LaneId(1))->owner, "engine-a");
}

TEST_F(Faults, a_delay_lets_others_act_before_the_call_arrives) {
  Options options = on_first({Kind::delay, 0, std::chrono::seconds(60)});
  options.wait = [this](Duration by) {
    clock_.advance(by);
    const std::vector<Operation> steal = {AcquireLane{core::LaneId(1), "engine-b", std::chrono::seconds(30)}};
    ASSERT_EQ(inner_.commit(steal)->front().kind, OutcomeKind::committed);
  };
  Store store(inner_, options);
  const auto outcomes = store.commit(group_);
  ASSERT_TRUE(outcomes);
  EXPECT_EQ((*outcomes)[1].kind, OutcomeKind::fenced);
  EXPECT_FALSE(bundle_applied());
}

TEST_F(Faults, a_duplicate_answers_with_the_second_outcomes) {
  Store store(inner_, on_first({Kind::duplicate}));
  const auto outcomes = store.commit(group_);
  ASSERT_TRUE(outcomes);
  EXPECT_EQ((*outcomes)[0].kind, OutcomeKind::exists);
  EXPECT_EQ((*outcomes)[1].kind, OutcomeKind::already_done);
}

TEST_F(Faults, a_fault_hits_the_call_it_was_planned_for_and_is_counted) {
  Options options;
  options.plan = at_call(2, {Kind::error_before});
  Store store(inner_, options);
  EXPECT_TRUE(store.commit(group_));
  EXPECT_FALSE(store.commit(group_));
  EXPECT_TRUE(store.commit(group_));
  EXPECT_EQ(store.calls(), 3u);
  EXPECT_EQ(store.fired(), 1u);
}

TEST_F(Faults, a_fault_that_stays_ends_when_the_store_is_healed) {
  Options options;
  options.plan = from_call(2, {Kind::error_before});
  options.read_faults_per_thousand = 1000;
  Store store(inner_, options);
  EXPECT_TRUE(store.commit(group_));
  EXPECT_FALSE(store.commit(group_));
  EXPECT_FALSE(store.commit(group_));
  EXPECT_FALSE(store.read_job(run_));
  store.heal();
  EXPECT_TRUE(store.commit(group_));
  EXPECT_TRUE(store.read_job(run_));
}

TEST_F(Faults, reads_fail_at_the_rate_asked_for_and_the_same_way_for_one_seed) {
  Options options;
  options.read_faults_per_thousand = 250;
  options.seed = 5;
  const auto play = [&](std::uint64_t seed) {
    options.seed = seed;
    Store store(inner_, options);
    std::string pattern;
    for (int i = 0; i < 2000; ++i) pattern += store.read_job(run_) ? '.' : 'x';
    EXPECT_EQ(store.reads(), 2000u);
    EXPECT_NEAR(static_cast<double>(store.reads_failed()), 500.0, 100.0);
    return pattern;
  };
  EXPECT_EQ(play(5), play(5));
  EXPECT_NE(play(5), play(6));
}

TEST_F(Faults, every_read_can_fail) {
  Options options;
  options.read_faults_per_thousand = 1000;
  Store store(inner_, options);
  EXPECT_FALSE(store.read_pool(Pool("graphs")));
  EXPECT_FALSE(store.read_lane(core::LaneId(1)));
  EXPECT_FALSE(store.find_run(Namespace("default"), JobId("a")));
  EXPECT_FALSE(store.read_job(run_));
  EXPECT_FALSE(store.find_mailbox({Namespace("a"), Topic("b"), "c"}));
  EXPECT_FALSE(store.read_mailbox(run_));
  EXPECT_FALSE(store.read_waiting(core::LaneId(1), RunId(0), 1));
  EXPECT_FALSE(store.read_work(core::LaneId(1), {}, 1));
  EXPECT_FALSE(store.read_outbox(core::LaneId(1), 1));
  EXPECT_FALSE(store.read_due(core::LaneId(1), std::nullopt, 1));
  EXPECT_FALSE(store.read_message(run_, core::Guid{}));
  EXPECT_FALSE(store.read_paused_topics());
  EXPECT_FALSE(store.list_jobs({}));
  EXPECT_EQ(store.reads_failed(), 13u);
}

TEST_F(Faults, an_error_of_the_inner_store_is_passed_on) {
  Options broken;
  broken.plan = from_call(1, {Kind::error_before});
  for (const Kind kind : all_kinds) {
    Store inner(inner_, broken);
    Options options = on_first({kind, 2});
    options.wait = [](Duration) {};
    Store store(inner, options);
    // A group without guarded operations, so that a fence lets something pass.
    const std::vector<Operation> group = {submit("x"), submit("y")};
    const auto failed = store.commit(group);
    ASSERT_FALSE(failed) << name_of(kind);
    EXPECT_EQ(failed.error().code, ErrorCode::retry_later) << name_of(kind);
  }
}

}  // namespace

}  // namespace pawl::store::fault
