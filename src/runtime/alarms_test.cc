// Alarms: what fires, and when.
#include "runtime/alarms.h"

#include "runtime/rooms_bench.h"

namespace pawl::runtime {
namespace {

using std::chrono::seconds;

// Removals show best what fires: each is one operation, and needs no job in memory.
class AlarmsTest : public ::testing::Test {
 protected:
  explicit AlarmsTest(EngineOptions options = {}) : bench_(std::move(options)) {
    bench_.deploy(GraphBuilder("step").trigger("t").worker("a", "work").after("t"));
    bench_.deploy(GraphBuilder("alone").trigger("t"));
    bench_.deploy(
        GraphBuilder("late").trigger("t").worker("a", "work").after("t").timeouts(Timeouts().queue(seconds(5))));
    bench_.deploy(
        GraphBuilder("short").trigger("t").worker("a", "work").after("t").timeouts(Timeouts().total(seconds(5))));
    bench_.own(RoomsBench::one);
    bench_.own(RoomsBench::two);
  }
  OwnedLane& lane(core::LaneId id = RoomsBench::one) { return *bench_.parts.lanes.mine(id); }
  static RunId run(std::uint64_t number, core::LaneId id = RoomsBench::one) { return core::make_run(id, number); }
  void arm(RunId removed, Duration in) {
    alarms_.arm(lane(core::lane_of(removed)), store::Due{bench_.clock.now() + in, removed, store::Due::Kind::removal});
  }
  // A job that has ended and is kept for a while.
  RunId keep(Duration time) {
    store::Submit submit = bench_.start_of("alone");
    submit.keep = time;
    const RunId kept = bench_.submit(std::move(submit));
    bench_.settle_all();
    return kept;
  }
  // What fires now.
  std::vector<RunId> fire() {
    alarms_.fire_due();
    bench_.sent.clear();
    bench_.settle_all();
    std::vector<RunId> removed;
    for (const store::RemoveJob& remove : bench_.sent_of<store::RemoveJob>()) removed.push_back(remove.run);
    return removed;
  }
  using Runs = std::vector<RunId>;

  RoomsBench bench_;
  Alarms& alarms_ = bench_.parts.alarms;
};

TEST_F(AlarmsTest, fire_at_their_time_once) {
  fire();  // the store's list is read: it is empty
  arm(run(1), seconds(3));
  EXPECT_EQ(alarms_.next(), bench_.clock.now() + seconds(3));
  bench_.clock.advance(seconds(3) - Duration{1});
  EXPECT_EQ(fire(), Runs{});
  bench_.clock.advance(Duration{1});
  EXPECT_EQ(fire(), Runs{run(1)});
  EXPECT_EQ(fire(), Runs{});
  EXPECT_EQ(alarms_.next(), std::nullopt);
}

TEST_F(AlarmsTest, fire_in_the_order_of_their_times) {
  fire();
  arm(run(1), seconds(3));
  arm(run(2), seconds(1));
  arm(run(3), seconds(2));
  EXPECT_EQ(alarms_.next(), bench_.clock.now() + seconds(1));
  bench_.clock.advance(seconds(5));
  EXPECT_EQ(fire(), (Runs{run(2), run(3), run(1)}));
}

TEST_F(AlarmsTest, the_next_one_is_that_of_any_lane) {
  fire();
  arm(run(1), seconds(3));
  arm(run(1, RoomsBench::two), seconds(2));
  EXPECT_EQ(alarms_.next(), bench_.clock.now() + seconds(2));
}

TEST_F(AlarmsTest, without_a_time_nothing_is_armed) {
  fire();
  alarms_.arm(lane(), store::Due{Instant(), run(1), store::Due::Kind::removal});
  EXPECT_EQ(alarms_.next(), std::nullopt);
  EXPECT_EQ(fire(), Runs{});
}

TEST_F(AlarmsTest, of_many_a_turn_fires_no_more_than_its_limit_and_some_of_each_lane) {
  fire();
  for (std::uint64_t i = 1; i <= limits::due_per_turn_max; ++i) arm(run(i), seconds(1));
  arm(run(1, RoomsBench::two), seconds(1));
  bench_.clock.advance(seconds(1));
  const Runs first = fire();
  EXPECT_EQ(first.size(), limits::due_per_turn_max / 2 + 1) << "a half for each lane";
  EXPECT_EQ(first.back(), run(1, RoomsBench::two)) << "it does not wait behind the other lane's";
  EXPECT_EQ(fire().size(), limits::due_per_turn_max / 2);
  EXPECT_EQ(fire(), Runs{});
}

TEST_F(AlarmsTest, of_what_the_store_has_fire_without_having_been_armed) {
  const RunId kept = keep(seconds(3));
  bench_.lose_and_own(RoomsBench::one);
  EXPECT_TRUE(alarms_.wants_page());
  EXPECT_EQ(fire(), Runs{});
  EXPECT_FALSE(alarms_.wants_page());
  EXPECT_EQ(alarms_.next(), bench_.clock.now() + seconds(3));
  bench_.clock.advance(seconds(3));
  EXPECT_EQ(fire(), Runs{kept});
}

TEST_F(AlarmsTest, of_what_others_put_fire_once_it_is_looked_at_again) {
  fire();
  store::Submit submit = bench_.start_of("step");
  submit.deadline = bench_.clock.now() + seconds(3);
  bench_.commit(submit);
  EXPECT_EQ(alarms_.next(), std::nullopt);
  alarms_.look_again();
  fire();
  EXPECT_EQ(alarms_.next(), bench_.clock.now() + seconds(3));
}

TEST_F(AlarmsTest, of_a_lane_that_was_lost_do_not_fire) {
  fire();
  arm(run(1), seconds(3));
  arm(run(1, RoomsBench::two), seconds(3));
  bench_.parts.lane_taken(RoomsBench::one);
  bench_.clock.advance(seconds(3));
  EXPECT_EQ(fire(), Runs{run(1, RoomsBench::two)});
  bench_.own(RoomsBench::one);
  EXPECT_EQ(fire(), Runs{}) << "what was only remembered went with the lane";
}

TEST_F(AlarmsTest, of_a_lane_whose_time_is_over_do_not_fire) {
  fire();
  arm(run(1), seconds(3));
  bench_.clock.advance(RoomsBench::lease);
  EXPECT_EQ(alarms_.next(), std::nullopt);
  EXPECT_EQ(fire(), Runs{});
}

TEST_F(AlarmsTest, do_not_fire_while_the_engine_stops) {
  fire();
  arm(run(1), seconds(1));
  bench_.clock.advance(seconds(1));
  bench_.parts.stopping = true;
  EXPECT_EQ(fire(), Runs{});
}

TEST_F(AlarmsTest, a_timer_of_a_job_in_memory_is_handed_to_it_once) {
  store::Submit submit = bench_.start_of("step");
  submit.deadline = bench_.clock.now() + seconds(3);
  const store::Due due{submit.deadline, bench_.submit(submit), store::Due::Kind::message, core::deadline_guid(run(1))};
  ASSERT_EQ(due.run, run(1));
  bench_.settle_all();
  bench_.clock.advance(seconds(3));
  alarms_.fire_message(lane(), due);
  alarms_.fire_message(lane(), due);
  ASSERT_NE(bench_.parts.jobs.find(due.run), nullptr);
  EXPECT_EQ(bench_.parts.jobs.find(due.run)->queue.size(), 1u);
  bench_.settle_all();
  EXPECT_EQ(bench_.status(due.run), core::JobStatus::interrupted);
}

TEST_F(AlarmsTest, a_timer_of_a_job_that_is_not_in_memory_brings_it_there) {
  store::Submit submit = bench_.start_of("alone");
  submit.start_at = bench_.clock.now() + seconds(3);
  const RunId later = bench_.submit(std::move(submit));
  fire();
  EXPECT_EQ(bench_.parts.jobs.find(later), nullptr);
  EXPECT_EQ(bench_.status(later), core::JobStatus::running);
  bench_.clock.advance(seconds(3));
  fire();
  EXPECT_EQ(bench_.status(later), core::JobStatus::completed);
}

// The message that the owner served last may be the one that crashed it.
TEST_F(AlarmsTest, a_timer_is_entered_for_the_first_time_if_its_time_came_while_the_lane_was_ours) {
  const Instant taken = bench_.clock.now();
  EXPECT_EQ(alarms_.origin_of_timer(lane(), taken), core::Origin::loaded);
  EXPECT_EQ(alarms_.origin_of_timer(lane(), taken + Duration{1}), core::Origin::memory);
}

TEST_F(AlarmsTest, work_that_nobody_begins_in_time_ends) {
  const RunId late = bench_.submit("late");  // this process does not serve its topic
  bench_.settle_all();
  bench_.clock.advance(seconds(5) - Duration{1});
  fire();
  EXPECT_EQ(bench_.status(late), core::JobStatus::running);
  bench_.clock.advance(Duration{1});
  fire();
  EXPECT_EQ(bench_.status(late), core::JobStatus::failed);
}

TEST_F(AlarmsTest, work_whose_time_was_over_before_its_commit_was_known_ends_now) {
  bench_.parts.workshop.serve(Topic("work"));
  bench_.parts.workshop.add_slots(1);
  const RunId late = bench_.submit("short");
  auto group = bench_.decide();
  ASSERT_TRUE(group);
  auto result = bench_.store.commit(group->operations);
  bench_.clock.advance(seconds(6));
  bench_.settle(std::move(*group), std::move(result));
  bench_.settle_all();
  EXPECT_EQ(bench_.status(late), core::JobStatus::failed);
}

class AlarmsFarTest : public AlarmsTest {
 protected:
  AlarmsFarTest() : AlarmsTest(far_away()) {}
};

TEST_F(AlarmsFarTest, a_page_that_cannot_be_read_is_read_again) {
  const RunId kept = keep(seconds(3));
  bench_.clock.advance(seconds(3));
  EXPECT_EQ(fire(), Runs{});
  bench_.fail_reads();
  EXPECT_TRUE(alarms_.wants_page());
  fire();
  EXPECT_FALSE(bench_.parts.reads.take()) << "not before the next tick";
  bench_.parts.loader.tick();
  fire();
  bench_.answer_reads();
  EXPECT_EQ(fire(), Runs{kept});
}

TEST_F(AlarmsFarTest, a_page_of_a_lane_that_was_lost_meanwhile_is_not_used) {
  keep(seconds(3));
  bench_.clock.advance(seconds(3));
  fire();
  bench_.parts.lane_taken(RoomsBench::one);
  bench_.answer_reads();
  EXPECT_EQ(fire(), Runs{});
  OwnedLane& again = bench_.own(RoomsBench::one);
  EXPECT_TRUE(again.due.wants_page());
}

TEST_F(AlarmsFarTest, a_timer_that_cannot_be_read_is_tried_again) {
  store::Submit submit = bench_.start_of("step");
  submit.deadline = bench_.clock.now() + seconds(3);
  const RunId timed = bench_.submit(std::move(submit));
  bench_.settle_all();
  alarms_.fire_due();
  bench_.answer_reads();
  bench_.clock.advance(seconds(3));
  fire();
  bench_.fail_reads();
  EXPECT_TRUE(alarms_.must_try_again());
  bench_.settle_all();
  EXPECT_EQ(bench_.status(timed), core::JobStatus::running);
  alarms_.tick();
  bench_.answer_reads();
  EXPECT_FALSE(alarms_.must_try_again());
  bench_.settle_all();
  EXPECT_EQ(bench_.status(timed), core::JobStatus::interrupted);
}

TEST_F(AlarmsFarTest, a_timer_that_fires_again_while_it_is_read_is_handed_to_its_job_once) {
  store::Submit submit = bench_.start_of("step");
  submit.deadline = bench_.clock.now() + seconds(3);
  const RunId timed = bench_.submit(submit);
  bench_.settle_all();
  bench_.clock.advance(seconds(3));
  const store::Due due{submit.deadline, timed, store::Due::Kind::message, core::deadline_guid(timed)};
  alarms_.fire_message(lane(), due);
  alarms_.fire_message(lane(), due);
  bench_.answer_reads();
  ASSERT_NE(bench_.parts.jobs.find(timed), nullptr);
  EXPECT_EQ(bench_.parts.jobs.find(timed)->queue.size(), 1u);
  alarms_.fire_message(lane(), due);
  EXPECT_TRUE(bench_.parts.reads.empty()) << "it is there: nothing is asked";
}

TEST_F(AlarmsFarTest, work_that_cannot_be_read_is_tried_again) {
  const RunId late = bench_.submit("late");
  bench_.settle_all();
  alarms_.fire_due();
  bench_.answer_reads();
  bench_.clock.advance(seconds(5));
  fire();
  bench_.fail_reads();
  EXPECT_TRUE(alarms_.must_try_again());
  alarms_.tick();
  bench_.answer_reads();
  EXPECT_FALSE(alarms_.must_try_again());
  bench_.settle_all();
  EXPECT_EQ(bench_.status(late), core::JobStatus::failed);
}

}  // namespace
}  // namespace pawl::runtime
