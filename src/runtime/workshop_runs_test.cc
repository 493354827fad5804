// The workshop: the messages of workers about their attempts, and the messages to them.
#include <set>

#include "runtime/workshop_bench.h"

namespace pawl::runtime {
namespace {

using std::chrono::seconds;

class WorkshopRunsTest : public WorkshopBench {
 protected:
  explicit WorkshopRunsTest(EngineOptions options = {}) : WorkshopBench(std::move(options)) { workshop_.add_slots(2); }
  // The same attempt may be cancelled more than once.
  std::set<WorkRun> told_to_stop() const { return {events_.cancelled.begin(), events_.cancelled.end()}; }
  // Another worker takes the item over, and this engine gets no notification.
  void give_to_another(const core::WorkItem& item) {
    ASSERT_TRUE(bench_.commit(store::ClaimItem{item.run, item.activity, item.token, "e2", item.epoch}).done());
  }
};

TEST_F(WorkshopRunsTest, an_answer_is_taken_once) {
  const core::WorkItem item = begin("step");
  workshop_.answer(reply(item));
  EXPECT_EQ(workshop_.free_slots(), 2u);
  bench_.settle_all();
  ASSERT_EQ(bench_.status(item.run), core::JobStatus::completed);
  workshop_.answer(reply(item));
  EXPECT_EQ(workshop_.free_slots(), 2u) << "its slot came back once";
  EXPECT_EQ(bench_.parts.jobs.waiting(), 0u);
}

TEST_F(WorkshopRunsTest, an_answer_of_a_run_that_lost_its_claim_is_refused) {
  const core::WorkItem item = begin("step");
  core::WorkItem other = item;
  other.token = core::WorkToken(item.token.raw() + 1);
  workshop_.answer(reply(other));
  workshop_.answer(reply(other, core::ReplyStatus::pending, 202));
  EXPECT_EQ(bench_.parts.jobs.waiting(), 0u) << "nobody hears of it";
  EXPECT_EQ(workshop_.free_slots(), 1u);
}

TEST_F(WorkshopRunsTest, an_answer_that_comes_after_the_lanes_time_is_refused_and_its_slot_is_free) {
  const core::WorkItem item = begin("step");
  bench_.clock.advance(RoomsBench::lease);
  workshop_.answer(reply(item));
  EXPECT_EQ(workshop_.free_slots(), 2u);
  EXPECT_EQ(bench_.parts.jobs.waiting(), 0u) << "nobody hears of it";
  bench_.lose_and_own(RoomsBench::one);
  bench_.turn();
  const core::WorkItem again = next();
  EXPECT_EQ(again.run, item.run);
  EXPECT_NE(again.token, item.token);
}

// The activity would conclude without the reply that was lost.
TEST_F(WorkshopRunsTest, after_a_lost_answer_no_later_one_of_the_run_is_taken) {
  const core::WorkItem item = begin("step");
  workshop_.answer(reply(item, core::ReplyStatus::pending, 202));
  bench_.lose_and_own(RoomsBench::one);
  workshop_.answer(reply(item));
  bench_.turn();
  EXPECT_EQ(bench_.status(item.run), core::JobStatus::running);
  EXPECT_EQ(next().runs, 2u);
}

TEST_F(WorkshopRunsTest, a_run_that_nobody_waits_for_is_told_to_stop) {
  const core::WorkItem one = begin("pair");
  const core::WorkItem other = next();
  workshop_.answer(reply(one, core::ReplyStatus::error, 500));
  EXPECT_TRUE(events_.cancelled.empty());
  bench_.settle_all();
  ASSERT_EQ(bench_.status(one.run), core::JobStatus::failed);
  EXPECT_EQ(told_to_stop(), std::set{run_of(other)});
  EXPECT_EQ(workshop_.free_slots(), 1u) << "until it returns";
  workshop_.answer(reply(other));
  EXPECT_EQ(workshop_.free_slots(), 2u);
}

TEST_F(WorkshopRunsTest, all_runs_of_a_lane_that_another_took_are_told_to_stop) {
  const core::WorkItem one = begin("step");
  const core::WorkItem other = begin("step");
  bench_.parts.lane_taken(RoomsBench::two);
  EXPECT_TRUE(events_.cancelled.empty());
  bench_.parts.lane_taken(RoomsBench::one);
  EXPECT_EQ(events_.cancelled, (std::vector{run_of(one), run_of(other)}));
}

TEST_F(WorkshopRunsTest, of_heartbeats_that_come_while_one_is_out_the_last_counts) {
  const core::WorkItem item = begin("step");
  for (const char* progress : {"1", "2", "3", ""}) workshop_.heartbeat(run_of(item), progress);
  bench_.settle_all();
  EXPECT_EQ(bench_.sent_of<store::ExtendWork>().size(), 2u);
  EXPECT_EQ(bench_.stored(item)->life.progress, "3") << "a bare beat unsays nothing";
}

TEST_F(WorkshopRunsTest, a_heartbeat_of_a_run_that_ended_is_told_to_stop) {
  const core::WorkItem item = begin("step");
  workshop_.answer(reply(item));
  workshop_.heartbeat(run_of(item), "1");
  EXPECT_EQ(events_.cancelled, std::vector{run_of(item)});
  bench_.settle_all();
  EXPECT_TRUE(bench_.sent_of<store::ExtendWork>().empty());
}

TEST_F(WorkshopRunsTest, a_heartbeat_tells_the_run_that_another_has_its_item) {
  const core::WorkItem item = begin("step");
  give_to_another(item);
  workshop_.heartbeat(run_of(item), "1");
  bench_.settle_all();
  EXPECT_EQ(events_.cancelled, std::vector{run_of(item)});
}

TEST_F(WorkshopRunsTest, a_run_in_doubt_is_told_to_stop_if_another_has_its_item) {
  const core::WorkItem kept = begin("step");
  const core::WorkItem gone = begin("step");
  give_to_another(gone);
  workshop_.doubt_runs(RoomsBench::one);
  EXPECT_TRUE(workshop_.must_try_again());
  workshop_.look_at_runs();
  EXPECT_EQ(events_.cancelled, std::vector{run_of(gone)});
  EXPECT_FALSE(workshop_.must_try_again());
}

TEST_F(WorkshopRunsTest, a_run_ends_when_the_time_of_its_attempt_is_over) {
  const core::WorkItem item = begin("timed");
  bench_.clock.advance(seconds(2));
  EXPECT_EQ(workshop_.next_wake(), std::nullopt) << "no thread has begun it";
  workshop_.begun(run_of(item));
  EXPECT_EQ(workshop_.next_wake(), bench_.clock.monotonic() + seconds(5));
  bench_.clock.advance(seconds(5) - Duration{1});
  workshop_.end_clocks();
  bench_.settle_all();
  EXPECT_EQ(bench_.status(item.run), core::JobStatus::running);
  bench_.clock.advance(Duration{1});
  workshop_.end_clocks();
  bench_.settle_all();
  EXPECT_EQ(bench_.status(item.run), core::JobStatus::failed);
  EXPECT_EQ(told_to_stop(), std::set{run_of(item)});
}

TEST_F(WorkshopRunsTest, a_detached_run_has_no_slot_and_belongs_to_whoever_has_its_token) {
  const core::WorkItem item = begin("step");
  workshop_.detach(run_of(item), seconds(60));
  EXPECT_EQ(workshop_.free_slots(), 2u);
  EXPECT_TRUE(workshop_.is_busy(RoomsBench::one)) << "until the store knows";
  bench_.settle_all();
  EXPECT_FALSE(workshop_.is_busy(RoomsBench::one));
  const auto stored = bench_.stored(item);
  EXPECT_EQ(stored->token, item.token);
  EXPECT_EQ(stored->lease_until, bench_.clock.now() + seconds(60));
  bench_.turn();
  EXPECT_TRUE(events_.work.empty()) << "it is not handed out again";
}

TEST_F(WorkshopRunsTest, a_run_that_is_written_off_gives_its_slot_to_others_and_its_answer_still_counts) {
  const core::WorkItem item = begin("step");
  bench_.parts.stopping = true;
  workshop_.write_off(run_of(item));
  EXPECT_EQ(workshop_.free_slots(), 2u);
  EXPECT_EQ(workshop_.running(), 0u);
  workshop_.answer(reply(item));
  EXPECT_EQ(workshop_.free_slots(), 2u) << "its slot came back once";
  bench_.settle_all();
  EXPECT_EQ(bench_.status(item.run), core::JobStatus::completed);
}

TEST_F(WorkshopRunsTest, what_is_given_back_at_a_stop_counts_as_if_it_had_not_been_handed_out) {
  const core::WorkItem item = begin("step");
  bench_.parts.stopping = true;
  workshop_.give_back(item, core::Began::no);
  EXPECT_EQ(workshop_.free_slots(), 2u);
  EXPECT_TRUE(workshop_.is_busy(RoomsBench::one)) << "until the store knows";
  bench_.turn();
  EXPECT_FALSE(workshop_.is_busy(RoomsBench::one));
  const auto stored = bench_.stored(item);
  ASSERT_TRUE(stored);
  EXPECT_EQ(stored->token, core::WorkToken(0));
  EXPECT_EQ(stored->runs, 0u);
  EXPECT_TRUE(events_.work.empty()) << "the next start hands it out";
}

TEST_F(WorkshopRunsTest, what_is_given_back_while_the_engine_goes_on_is_handed_out_again) {
  const core::WorkItem item = begin("step");
  workshop_.give_back(item, core::Began::no);
  bench_.turn();
  bench_.turn();
  EXPECT_EQ(next().runs, 1u);
}

TEST_F(WorkshopRunsTest, giving_back_is_said_again_when_the_answer_to_it_was_lost) {
  const core::WorkItem item = begin("step");
  bench_.parts.stopping = true;
  workshop_.give_back(item, core::Began::no);
  bench_.settle_as(*bench_.parts.outgoing.take(), store::OutcomeKind::outcome_unknown);
  EXPECT_TRUE(workshop_.is_busy(RoomsBench::one));
  bench_.turn();
  EXPECT_FALSE(workshop_.is_busy(RoomsBench::one));
  EXPECT_EQ(bench_.stored(item)->token, core::WorkToken(0));
}

// It may have acted: the job's next owner finds a lost attempt.
TEST_F(WorkshopRunsTest, a_run_that_began_and_may_act_once_is_not_given_back) {
  const core::WorkItem begun = begin("once");
  const core::WorkItem waiting = begin("once");
  workshop_.give_back(begun, core::Began::yes);
  workshop_.give_back(waiting, core::Began::no);
  bench_.settle_all();
  EXPECT_EQ(bench_.stored(begun)->token, begun.token);
  EXPECT_EQ(bench_.stored(waiting)->token, core::WorkToken(0));
}

TEST_F(WorkshopRunsTest, a_lost_run_that_may_act_once_is_not_handed_out_again) {
  const core::WorkItem item = begin("once");
  workshop_.write_off(run_of(item));
  bench_.turn();
  EXPECT_TRUE(events_.work.empty());
  ASSERT_TRUE(bench_.stored(item));
  EXPECT_TRUE(bench_.stored(item)->life.unknown) << "a person decides";
}

class WorkshopRunsFarTest : public WorkshopRunsTest {
 protected:
  WorkshopRunsFarTest() : WorkshopRunsTest(far_away()) { bench_.answer_reads(); }
};

TEST_F(WorkshopRunsFarTest, a_run_in_doubt_whose_item_cannot_be_read_stays_in_doubt) {
  const core::WorkItem item = begin("step");
  give_to_another(item);
  workshop_.doubt_runs(RoomsBench::one);
  workshop_.look_at_runs();
  bench_.fail_reads();
  EXPECT_TRUE(events_.cancelled.empty());
  EXPECT_TRUE(workshop_.must_try_again());
  workshop_.look_at_runs();
  bench_.answer_reads();
  EXPECT_EQ(events_.cancelled, std::vector{run_of(item)});
}

}  // namespace
}  // namespace pawl::runtime
