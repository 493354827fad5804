// The workshop: what is done with a work item.
#include "runtime/workshop.h"

#include "runtime/workshop_bench.h"

namespace pawl::runtime {
namespace {

using store::OutcomeKind;

class WorkshopTest : public WorkshopBench {};

TEST_F(WorkshopTest, hands_out_no_more_than_it_has_slots) {
  workshop_.add_slots(2);
  for (int i = 0; i < 3; ++i) bench_.submit("step");
  bench_.turn();
  ASSERT_EQ(events_.work.size(), 2u);
  EXPECT_EQ(workshop_.free_slots(), 0u);
  EXPECT_EQ(workshop_.running(), 2u);
  const core::WorkItem first = next();
  workshop_.answer(reply(first));
  bench_.turn();
  ASSERT_EQ(events_.work.size(), 2u) << "the third, with the slot of the first";
  EXPECT_NE(events_.work.back().run, first.run);
  EXPECT_EQ(workshop_.free_slots(), 0u);
}

TEST_F(WorkshopTest, hands_out_nothing_before_its_commit) {
  workshop_.add_slots(1);
  bench_.submit("step");
  auto group = bench_.decide();
  ASSERT_TRUE(group);
  EXPECT_EQ(workshop_.free_slots(), 0u) << "it is claimed in the commit that puts it";
  EXPECT_TRUE(events_.work.empty());
  auto result = bench_.store.commit(group->operations);
  bench_.settle(std::move(*group), std::move(result));
  const core::WorkItem item = next();
  EXPECT_EQ(bench_.stored(item)->token, item.token);
}

TEST_F(WorkshopTest, leaves_work_that_nobody_here_serves_to_others) {
  bench_.deploy(GraphBuilder("other").trigger("t").worker("a", "elsewhere").after("t"));
  workshop_.add_slots(1);
  bench_.submit("other");
  bench_.turn();
  EXPECT_TRUE(events_.work.empty());
  EXPECT_EQ(workshop_.free_slots(), 1u);
  workshop_.serve(Topic("elsewhere"));
  bench_.turn();
  EXPECT_EQ(events_.work.size(), 1u) << "a worker has come";
}

TEST_F(WorkshopTest, keeps_work_of_a_paused_topic_until_it_is_resumed) {
  workshop_.add_slots(2);
  const core::WorkItem before = begin("step");
  pause(true);
  workshop_.topics_changed();
  bench_.submit("step");
  bench_.turn();
  EXPECT_TRUE(events_.work.empty());
  EXPECT_EQ(workshop_.free_slots(), 1u);
  EXPECT_TRUE(events_.cancelled.empty()) << "what runs, runs on";
  pause(false);
  workshop_.topics_changed();
  bench_.turn();
  ASSERT_EQ(events_.work.size(), 1u);
  EXPECT_NE(events_.work.front().run, before.run);
}

// The slot is taken when the work is decided; only the store knows that the topic was paused since.
TEST_F(WorkshopTest, gives_the_slot_of_a_refused_claim_back) {
  workshop_.add_slots(1);
  const core::WorkItem running = begin("step");
  bench_.submit("step");
  bench_.turn();
  pause(true);
  workshop_.answer(reply(running));
  bench_.turn();
  EXPECT_EQ(bench_.sent_of<store::ClaimItem>().size(), 1u);
  EXPECT_EQ(workshop_.free_slots(), 1u);
  EXPECT_TRUE(events_.work.empty());
  bench_.turn();
  EXPECT_EQ(bench_.sent_of<store::ClaimItem>().size(), 1u) << "it knows by now that the topic is paused";
  pause(false);
  workshop_.topics_changed();
  bench_.turn();
  EXPECT_EQ(events_.work.size(), 1u);
  EXPECT_EQ(workshop_.free_slots(), 0u);
}

class WorkshopBundleTest : public WorkshopTest, public ::testing::WithParamInterface<OutcomeKind> {};

TEST_P(WorkshopBundleTest, gives_back_the_slot_of_a_bundle_that_was_not_committed) {
  workshop_.add_slots(1);
  bench_.submit("step");
  auto group = bench_.decide();
  ASSERT_TRUE(group);
  ASSERT_EQ(workshop_.free_slots(), 0u);
  bench_.settle_as(std::move(*group), GetParam());
  EXPECT_EQ(workshop_.free_slots(), 1u);
  EXPECT_EQ(workshop_.bytes(), 0u);
  EXPECT_TRUE(events_.work.empty());
}
INSTANTIATE_TEST_SUITE_P(outcomes, WorkshopBundleTest,
                         ::testing::Values(OutcomeKind::conflict, OutcomeKind::outcome_unknown, OutcomeKind::fenced,
                                           OutcomeKind::over_limit, OutcomeKind::rejected),
                         [](const auto& tested) { return std::string(store::name_of(tested.param)); });

TEST_F(WorkshopTest, hands_work_out_once_when_the_answer_to_its_bundle_was_lost) {
  workshop_.add_slots(1);
  bench_.submit("step");
  bench_.lose_answer(*bench_.decide());
  bench_.turn();
  ASSERT_EQ(events_.work.size(), 1u);
  EXPECT_EQ(events_.work.front().runs, 1u) << "nobody began it, so it is the same run";
  EXPECT_EQ(workshop_.free_slots(), 0u);
}

TEST_F(WorkshopTest, hands_work_out_once_when_the_answer_to_its_claim_was_lost) {
  workshop_.add_slots(1);
  const core::WorkItem running = begin("step");
  bench_.submit("step");
  bench_.settle_all();
  workshop_.answer(reply(running));
  bench_.settle_all();
  workshop_.claim_waiting();
  bench_.lose_answer(*bench_.decide());
  bench_.turn();
  ASSERT_EQ(events_.work.size(), 1u);
  EXPECT_EQ(events_.work.front().runs, 1u);
  EXPECT_EQ(workshop_.free_slots(), 0u);
}

TEST_F(WorkshopTest, claims_nothing_in_a_lane_that_is_given_back) {
  workshop_.add_slots(1);
  const core::WorkItem running = begin("step");
  bench_.submit("step");
  bench_.settle_all();
  bench_.parts.lanes.mine(RoomsBench::one)->giving = true;
  workshop_.answer(reply(running));
  bench_.turn();
  EXPECT_TRUE(bench_.sent_of<store::ClaimItem>().empty());
  EXPECT_EQ(workshop_.free_slots(), 1u);
  EXPECT_FALSE(workshop_.is_busy(RoomsBench::one));
}

TEST_F(WorkshopTest, stops_the_job_of_work_that_is_handed_out_and_lost_again_and_again) {
  workshop_.add_slots(1);
  core::WorkItem item = begin("step");
  for (std::uint32_t runs = 1; runs < limits::reentries_max; ++runs) {
    workshop_.write_off(run_of(item));
    bench_.turn();
    ASSERT_EQ(bench_.status(item.run), core::JobStatus::running);
    item = next();
    ASSERT_EQ(item.runs, runs + 1);
  }
  workshop_.write_off(run_of(item));
  bench_.turn();
  EXPECT_TRUE(events_.work.empty());
  EXPECT_EQ(bench_.status(item.run), core::JobStatus::parked);
}

TEST_F(WorkshopTest, claims_nothing_while_it_stops) {
  workshop_.add_slots(1);
  const core::WorkItem running = begin("step");
  bench_.submit("step");
  bench_.settle_all();  // waits for the slot
  const RunId late = bench_.submit("step");
  bench_.parts.stopping = true;
  workshop_.answer(reply(running));
  bench_.turn();
  EXPECT_EQ(bench_.status(running.run), core::JobStatus::completed) << "what runs is finished";
  EXPECT_TRUE(events_.work.empty());
  EXPECT_EQ(workshop_.free_slots(), 1u);
  const auto state = (*bench_.store.read_job(late))->state;
  ASSERT_EQ(state.work().size(), 1u);
  EXPECT_EQ(state.work().begin()->second.token, core::WorkToken(0)) << "anybody may have it";
}

class WorkshopFarTest : public WorkshopBench {
 protected:
  WorkshopFarTest() : WorkshopBench(far_away()) {}
  // Known here: the claim is not sent for the store to refuse.
  void expect_paused() {
    bench_.submit("step");
    ASSERT_TRUE(bench_.decide());
    EXPECT_EQ(workshop_.free_slots(), 1u);
  }
};

TEST_F(WorkshopFarTest, asks_again_for_paused_topics_that_could_not_be_read) {
  workshop_.add_slots(1);
  bench_.answer_reads();
  pause(true);
  workshop_.topics_changed();
  bench_.fail_reads();
  EXPECT_TRUE(workshop_.must_try_again());
  workshop_.tick();
  bench_.answer_reads();
  EXPECT_FALSE(workshop_.must_try_again());
  expect_paused();
}

TEST_F(WorkshopFarTest, asks_again_for_paused_topics_that_changed_while_they_were_read) {
  workshop_.add_slots(1);
  bench_.answer_reads();
  workshop_.topics_changed();
  auto batch = bench_.parts.reads.take();
  ASSERT_TRUE(batch);
  auto answers = bench_.store.read(batch->reads);
  pause(true);
  workshop_.topics_changed();
  bench_.parts.reads.answered(std::move(*batch), std::move(answers));
  bench_.answer_reads();
  expect_paused();
}

}  // namespace
}  // namespace pawl::runtime
