// Alarms: what fires, and when.
#include "runtime/alarms.h"

#include <algorithm>

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
  // A job that begins later, and ends with its first step.
  RunId delayed(Duration delay) {
    store::Submit submit = bench_.start_of("alone");
    submit.start_at = bench_.clock.now() + delay;
    return bench_.submit(std::move(submit));
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

TEST_F(AlarmsTest, a_job_is_read_before_its_timer_is_due_and_nothing_is_done_for_it) {
  const RunId later = delayed(seconds(3));
  fire();
  bench_.clock.advance(seconds(3) - limits::ahead_at_least - Duration{1});
  alarms_.look_ahead();
  EXPECT_EQ(bench_.parts.jobs.find(later), nullptr);
  EXPECT_EQ(alarms_.next_look_ahead(), bench_.clock.now() + Duration{1});
  bench_.clock.advance(Duration{1});
  alarms_.look_ahead();
  const HotJob* job = bench_.parts.jobs.find(later);
  ASSERT_NE(job, nullptr);
  EXPECT_TRUE(job->queue.empty());
  EXPECT_EQ(job->timers.size(), 1u);
  EXPECT_EQ(alarms_.next_look_ahead(), std::nullopt) << "once";
  bench_.settle_all();
  EXPECT_EQ(bench_.parts.jobs.find(later), job);
  EXPECT_EQ((*bench_.store.read_job(later))->state.job.rev, core::Rev(0));
  bench_.clock.advance(limits::ahead_at_least);
  fire();
  EXPECT_EQ(bench_.status(later), core::JobStatus::completed);
}

TEST_F(AlarmsTest, jobs_that_are_due_much_later_are_not_read_with_those_that_are_due_soon) {
  const RunId soon = delayed(seconds(3));
  const RunId together = delayed(seconds(3) + limits::short_wait_max - limits::ahead_at_least);
  const RunId late = delayed(seconds(3) + limits::short_wait_max);
  fire();
  bench_.clock.advance(seconds(3) - limits::ahead_at_least);
  alarms_.look_ahead();
  EXPECT_NE(bench_.parts.jobs.find(soon), nullptr);
  EXPECT_NE(bench_.parts.jobs.find(together), nullptr);
  EXPECT_EQ(bench_.parts.jobs.find(late), nullptr);
}

TEST_F(AlarmsTest, many_jobs_are_read_ahead_in_many_turns) {
  const std::size_t count = limits::ahead_per_turn_max + 1;
  std::vector<RunId> runs;
  for (std::size_t i = 0; i < count; ++i) runs.push_back(delayed(seconds(3)));
  fire();
  bench_.clock.advance(seconds(3) - limits::ahead_at_least);
  const auto loaded = [&] {
    return std::count_if(runs.begin(), runs.end(),
                         [&](RunId run) { return bench_.parts.jobs.find(run) != nullptr; });
  };
  alarms_.look_ahead();
  EXPECT_EQ(loaded(), std::ptrdiff_t{limits::ahead_per_turn_max});
  EXPECT_LE(*alarms_.next_look_ahead(), bench_.clock.now()) << "and more at once";
  alarms_.look_ahead();
  EXPECT_EQ(loaded(), static_cast<std::ptrdiff_t>(count));
}

TEST_F(AlarmsTest, a_timer_that_was_read_ahead_is_read_again_after_its_job_went_on) {
  store::Submit submit = bench_.start_of("step");
  submit.deadline = bench_.clock.now() + seconds(3);
  const RunId run = bench_.submit(std::move(submit));
  bench_.settle_all();
  bench_.parts.jobs.forget(run);
  fire();
  bench_.clock.advance(seconds(3) - limits::ahead_at_least);
  alarms_.look_ahead();
  HotJob* job = bench_.parts.jobs.find(run);
  ASSERT_NE(job, nullptr);
  ASSERT_EQ(job->timers.size(), 1u);
  bench_.parts.jobs.deliver(lane(), run, {{core::Guid{8, 8}, core::Interrupt{410, "asked"}}, core::Origin::unstored});
  bench_.settle_all();
  EXPECT_EQ(bench_.status(run), core::JobStatus::interrupted);
  bench_.clock.advance(limits::ahead_at_least);
  fire();
  EXPECT_EQ((*bench_.store.read_job(run))->state.job.completions, 1u);
}

TEST_F(AlarmsTest, the_timers_at_hand_have_their_turn_before_what_comes_after_them) {
  const std::size_t count = limits::due_per_turn_max + 10;
  for (std::size_t i = 0; i < count; ++i) delayed(seconds(3));
  const RunId other = bench_.submit("alone");
  fire();
  bench_.clock.advance(seconds(3) - limits::ahead_at_least);
  for (std::size_t i = 0; i < count; i += limits::ahead_per_turn_max) alarms_.look_ahead();
  bench_.clock.advance(limits::ahead_at_least);
  alarms_.fire_due();
  EXPECT_EQ(bench_.parts.jobs.waiting(), std::size_t{limits::due_per_turn_max / 2}) << "two lanes, one with timers";
  while (alarms_.has_due()) alarms_.fire_due();
  EXPECT_EQ(bench_.parts.jobs.waiting(), count);
  EXPECT_EQ(bench_.status(other), core::JobStatus::completed);
}

TEST_F(AlarmsTest, a_turn_decides_as_much_as_the_store_gets_at_once) {
  const std::size_t count = limits::bundles_per_turn_max + 10;
  for (std::size_t i = 0; i < count; ++i) delayed(seconds(3));
  fire();
  bench_.clock.advance(seconds(3) - limits::ahead_at_least);
  for (std::size_t i = 0; i < count; i += limits::ahead_per_turn_max) alarms_.look_ahead();
  bench_.clock.advance(limits::ahead_at_least);
  while (alarms_.has_due()) alarms_.fire_due();
  auto group = bench_.decide();
  ASSERT_TRUE(group);
  EXPECT_EQ(group->operations.size(), std::size_t{limits::bundles_per_turn_max});
  EXPECT_TRUE(bench_.parts.jobs.has_ready());
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

TEST_F(AlarmsFarTest, a_job_that_was_read_ahead_needs_no_read_when_its_timer_is_due) {
  const RunId later = delayed(seconds(3));
  alarms_.fire_due();
  bench_.answer_reads();
  bench_.clock.advance(seconds(3) - limits::ahead_at_least);
  alarms_.look_ahead();
  EXPECT_EQ(bench_.parts.jobs.find(later), nullptr);
  bench_.answer_reads();
  ASSERT_NE(bench_.parts.jobs.find(later), nullptr);
  bench_.clock.advance(limits::ahead_at_least);
  alarms_.fire_due();
  EXPECT_TRUE(bench_.parts.reads.empty());
  bench_.settle_all();
  EXPECT_EQ(bench_.status(later), core::JobStatus::completed);
}

// A mailbox has timers too. It is served when its time comes, although it was being read ahead as if it were a job.
TEST_F(AlarmsFarTest, a_mailbox_that_is_read_ahead_is_served_only_when_its_time_comes) {
  store::Deliver signal;
  signal.envelope = {core::MailboxKey{default_namespace(), Topic("paid"), "k"}, {core::Guid{9, 9}, core::Signal{"{}"}}};
  signal.lane = lane().id;
  const RunId box = bench_.commit(signal).run();
  bench_.parts.loader.load_ahead(lane(), box);
  bench_.answer_reads();
  EXPECT_TRUE(lane().mailboxes.empty());
  bench_.parts.loader.load_ahead(lane(), box);
  bench_.parts.loader.load_if_cold(lane(), box);
  bench_.answer_reads();
  bench_.settle_all();
  bench_.parts.mailboxes.read_waiting();
  bench_.answer_reads();
  bench_.settle_all();
  EXPECT_TRUE((*bench_.store.read_mailbox(box))->inbox.empty()) << "the signal is kept as an entry";
}

TEST_F(AlarmsFarTest, a_mailbox_that_was_to_be_read_ahead_is_served_when_a_signal_comes) {
  store::Deliver signal;
  signal.envelope = {core::MailboxKey{default_namespace(), Topic("paid"), "k"}, {core::Guid{9, 9}, core::Signal{"{}"}}};
  signal.lane = lane().id;
  const RunId box = bench_.commit(signal).run();
  bench_.parts.loader.load_ahead(lane(), box);
  bench_.fail_reads();
  bench_.parts.loader.look(lane(), box);  // a notification of the signal
  bench_.parts.loader.tick();
  bench_.answer_reads();
  bench_.parts.mailboxes.read_waiting();
  bench_.answer_reads();
  bench_.settle_all();
  EXPECT_TRUE((*bench_.store.read_mailbox(box))->inbox.empty()) << "the signal is kept as an entry";
}

TEST_F(AlarmsFarTest, what_is_due_and_has_to_wait_for_other_reads_does_not_keep_the_engine_awake) {
  alarms_.fire_due();
  bench_.answer_reads();
  arm(run(1), seconds(1));
  bench_.clock.advance(seconds(1));
  for (std::uint64_t i = 0; i < limits::reads_out_max; ++i)
    bench_.parts.reads.ask(lane(), store::ReadJob{run(i + 2)},
                           [](OwnedLane&, const store::AnswerTo<store::ReadJob>&) {});
  EXPECT_EQ(fire(), Runs{});
  EXPECT_EQ(alarms_.next(), std::nullopt) << "the answer wakes it";
  bench_.answer_reads();
  EXPECT_EQ(alarms_.next(), bench_.clock.now());
  EXPECT_EQ(fire(), Runs{run(1)});
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
