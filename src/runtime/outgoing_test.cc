#include "runtime/outgoing.h"

#include <gtest/gtest.h>

#include "runtime/engine_bench.h"

namespace pawl::runtime {
namespace {

class OutgoingTest : public ::testing::Test {
 protected:
  static core::Bundle bundle_of(RunId run, core::Rev rev_before = core::Rev(0)) {
    core::Bundle bundle;
    bundle.entity = run;
    bundle.rev_before = rev_before;
    return bundle;
  }
  static store::Submit submit_of(const std::string& id) {
    return store::Submit{Namespace("default"), JobId(id), core::LaneId(1), core::GraphRef{}, "{}", Instant()};
  }
  static Result<std::vector<store::Outcome>> full_disk() { return Error{ErrorCode::retry_later, "disk full"}; }

  EngineOptions options_;
  ManualClock clock_;
  Recorder events_;
  Outgoing outgoing_{Outgoing::Groups::over_all_lanes, options_, clock_, events_};
  const RunId first_ = core::make_run(core::LaneId(1), 7);
  const RunId second_ = core::make_run(core::LaneId(2), 7);
};

TEST_F(OutgoingTest, callers_hear_of_a_store_that_takes_no_writes_and_bundles_wait) {
  outgoing_.push(submit_of("a"), 1);
  outgoing_.push(bundle_of(first_));
  auto group = outgoing_.take();
  ASSERT_TRUE(group);
  outgoing_.push(submit_of("b"), 2);  // after it
  EXPECT_FALSE(outgoing_.finished(*group, full_disk()));
  EXPECT_EQ(events_.answers.size(), 2u);
  EXPECT_TRUE(outgoing_.refuses());
  EXPECT_FALSE(outgoing_.take());  // not at once
  clock_.advance(*outgoing_.next_wake() - clock_.monotonic());
  group = outgoing_.take();
  ASSERT_TRUE(group);
  EXPECT_EQ(group->operations.size(), 1u);
  EXPECT_FALSE(outgoing_.refuses());
}

TEST_F(OutgoingTest, a_refusal_is_said_once_and_tried_again_less_and_less_often) {
  outgoing_.push(bundle_of(first_));
  Duration pause{0};
  for (int i = 0; i < 5; ++i) {
    auto group = outgoing_.take();
    ASSERT_TRUE(group);
    EXPECT_FALSE(outgoing_.finished(*group, full_disk()));
    const Duration next = *outgoing_.next_wake() - clock_.monotonic();
    EXPECT_GT(next, pause);
    pause = next;
    clock_.advance(next);
  }
  EXPECT_EQ(events_.problems.size(), 1u);
}

TEST_F(OutgoingTest, a_lost_reply_is_an_outcome_of_each_operation) {
  outgoing_.push(bundle_of(first_));
  outgoing_.push(bundle_of(second_));
  auto group = outgoing_.take();
  ASSERT_TRUE(group);
  const auto outcomes = outgoing_.finished(*group, Error{ErrorCode::outcome_unknown, "gone"});
  ASSERT_TRUE(outcomes);
  ASSERT_EQ(outcomes->size(), 2u);
  EXPECT_EQ(outcomes->back().kind, store::OutcomeKind::outcome_unknown);
  EXPECT_TRUE(outgoing_.empty());
}

TEST_F(OutgoingTest, a_group_that_is_heard_of_after_a_later_one_was_overtaken) {
  // Outcomes that arrived before may have changed what it committed (Workshop::settle_claim asks for this).
  outgoing_.push(bundle_of(first_));
  auto first = outgoing_.take();
  outgoing_.push(bundle_of(second_));
  auto second = outgoing_.take();
  ASSERT_TRUE(first && second);
  const std::vector<store::Outcome> done(1);
  EXPECT_TRUE(outgoing_.finished(*second, done));
  EXPECT_FALSE(outgoing_.overtaken());
  EXPECT_FALSE(outgoing_.empty());
  EXPECT_TRUE(outgoing_.finished(*first, done));
  EXPECT_TRUE(outgoing_.overtaken());
  EXPECT_TRUE(outgoing_.empty());
  EXPECT_EQ(outgoing_.bytes(), 0u);
}

TEST_F(OutgoingTest, two_refused_groups_wait_as_one) {
  outgoing_.push(bundle_of(first_));
  auto first = outgoing_.take();
  outgoing_.push(bundle_of(second_));
  auto second = outgoing_.take();
  ASSERT_TRUE(first && second);
  EXPECT_FALSE(outgoing_.finished(*first, full_disk()));
  EXPECT_FALSE(outgoing_.finished(*second, full_disk()));
  clock_.advance(*outgoing_.next_wake() - clock_.monotonic());
  EXPECT_EQ(outgoing_.take()->operations.size(), 2u);
  EXPECT_EQ(events_.problems.size(), 1u);
}

TEST_F(OutgoingTest, only_the_work_of_a_lost_lane_is_withdrawn) {
  outgoing_.push(bundle_of(first_));
  outgoing_.push(bundle_of(second_));
  outgoing_.push(submit_of("a"), 1);
  int withdrawn = 0;
  outgoing_.withdraw(core::LaneId(1), [&](const store::Operation&) { ++withdrawn; });
  EXPECT_EQ(withdrawn, 1);
  EXPECT_EQ(outgoing_.take()->operations.size(), 2u);
}

class OutgoingByLane : public OutgoingTest {
 protected:
  Outgoing lanes_{Outgoing::Groups::by_lane, options_, clock_, events_};
};

TEST_F(OutgoingByLane, each_lane_has_one_group_under_way) {
  lanes_.push(bundle_of(first_));
  lanes_.push(bundle_of(second_));
  auto one = lanes_.take();
  auto other = lanes_.take();
  ASSERT_TRUE(one && other);
  EXPECT_EQ(one->operations.size(), 1u);
  EXPECT_NE(one->domain, other->domain);
  lanes_.push(bundle_of(first_));
  EXPECT_FALSE(lanes_.take()) << "its lane has one on its way";
  ASSERT_TRUE(lanes_.finished(*one, std::vector<store::Outcome>(1)));
  const auto next = lanes_.take();
  ASSERT_TRUE(next);
  EXPECT_EQ(next->domain, one->domain);
}

TEST_F(OutgoingByLane, a_lane_that_cannot_be_reached_holds_up_no_other) {
  lanes_.push(bundle_of(first_));
  auto group = lanes_.take();
  EXPECT_FALSE(lanes_.finished(*group, full_disk()));
  EXPECT_NE(lanes_.refusal_of(submit_of("a")), nullptr) << "lane 1 takes nothing";
  store::Submit elsewhere = submit_of("b");
  elsewhere.lane = core::LaneId(2);
  EXPECT_EQ(lanes_.refusal_of(elsewhere), nullptr);
  lanes_.push(bundle_of(second_));
  EXPECT_TRUE(lanes_.take());
  EXPECT_FALSE(lanes_.empty());
}

TEST_F(OutgoingByLane, what_a_busy_lane_gathered_goes_in_groups_of_the_largest_size) {
  options_.bundles_per_group_max = 2;
  for (std::uint64_t i = 1; i <= 5; ++i) lanes_.push(bundle_of(core::make_run(core::LaneId(1), i)));
  std::vector<std::size_t> sizes;
  while (auto group = lanes_.take()) {
    sizes.push_back(group->operations.size());
    const std::size_t size = group->operations.size();
    ASSERT_TRUE(lanes_.finished(*group, std::vector<store::Outcome>(size)));
  }
  EXPECT_EQ(sizes, (std::vector<std::size_t>{2, 2, 1}));
  EXPECT_EQ(lanes_.bytes(), 0u);
  EXPECT_TRUE(lanes_.empty());
}

class OutgoingStepsApart : public OutgoingTest {
 protected:
  void push_steps(std::size_t count) {
    for (; count > 0; --count) apart_.push(bundle_of(core::make_run(core::LaneId(1), ++runs_), core::Rev(1)));
  }
  Outgoing apart_{Outgoing::Groups::steps_apart, options_, clock_, events_};
  std::uint64_t runs_ = 0;
};

TEST_F(OutgoingStepsApart, steps_do_not_travel_with_what_numbers_something_new) {
  apart_.push(submit_of("a"), 1);
  push_steps(2);
  core::Bundle announcing = bundle_of(first_);
  announcing.writes.emplace_back(core::Announce{});
  apart_.push(std::move(announcing));
  auto one = apart_.take();
  auto other = apart_.take();
  ASSERT_TRUE(one && other);
  EXPECT_FALSE(apart_.take());
  EXPECT_EQ(one->operations.size(), 2u);
  EXPECT_EQ(other->operations.size(), 2u);
  EXPECT_NE(std::holds_alternative<store::Submit>(one->operations[0]),
            std::holds_alternative<store::Submit>(other->operations[0]));
  ASSERT_TRUE(apart_.finished(*other, std::vector<store::Outcome>(2)));
  EXPECT_FALSE(apart_.overtaken());
  ASSERT_TRUE(apart_.finished(*one, std::vector<store::Outcome>(2)));
  EXPECT_TRUE(apart_.overtaken()) << "whichever stream it was of";
  EXPECT_TRUE(apart_.empty());
}

TEST_F(OutgoingStepsApart, the_first_step_of_a_job_travels_with_its_submit) {
  apart_.push(submit_of("a"), 1);
  apart_.push(bundle_of(first_));
  auto group = apart_.take();
  ASSERT_TRUE(group);
  EXPECT_EQ(group->operations.size(), 2u);
}

TEST_F(OutgoingTest, a_submit_and_the_step_behind_it_are_never_cut_apart) {
  options_.bundles_per_group_max = 2;
  Outgoing small(Outgoing::Groups::over_all_lanes, options_, clock_, events_);
  for (std::uint64_t i = 1; i <= 3; ++i) {
    small.push(submit_of(std::to_string(i)), 1);
    small.push(bundle_of(core::make_run(core::LaneId(1), i)));
  }
  auto group = small.take();
  ASSERT_TRUE(group);
  EXPECT_EQ(group->operations.size(), 4u);
  EXPECT_TRUE(std::holds_alternative<core::Bundle>(group->operations.back()));
}

TEST_F(OutgoingStepsApart, beside_one_that_travels_goes_another_that_is_worth_it) {
  push_steps(1);
  auto one = apart_.take();
  ASSERT_TRUE(one);
  push_steps(1);
  EXPECT_FALSE(apart_.take());
  push_steps(200);
  auto other = apart_.take();
  ASSERT_TRUE(other);
  EXPECT_EQ(other->operations.size(), 201u);
}

TEST_F(OutgoingStepsApart, removals_go_a_few_at_a_time_one_group_after_the_other) {
  for (std::uint64_t i = 1; i <= 100; ++i) apart_.push(store::RemoveJob{core::make_run(core::LaneId(1), i), Instant()});
  push_steps(1);
  auto one = apart_.take();
  auto other = apart_.take();
  ASSERT_TRUE(one && other);
  EXPECT_FALSE(apart_.take());
  Group& removals = one->operations.size() > 1 ? *one : *other;
  EXPECT_EQ(removals.operations.size(), 64u);
  ASSERT_TRUE(apart_.finished(removals, std::vector<store::Outcome>(64)));
  const auto rest = apart_.take();
  ASSERT_TRUE(rest);
  EXPECT_EQ(rest->operations.size(), 36u);
}

TEST_F(OutgoingTest, a_group_takes_as_many_bundles_as_it_may_and_any_number_of_submits) {
  options_.bundles_per_group_max = 2;
  Outgoing small(Outgoing::Groups::over_all_lanes, options_, clock_, events_);
  small.push(bundle_of(first_));
  for (int i = 0; i < 10; ++i) small.push(submit_of(std::to_string(i)), 1);
  EXPECT_TRUE(small.takes_bundles());
  small.push(bundle_of(second_));
  EXPECT_FALSE(small.takes_bundles());
}

}  // namespace
}  // namespace pawl::runtime
