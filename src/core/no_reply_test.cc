#include <limits>

#include "core/test_graph.h"
#include "core/test_job.h"

namespace pawl::core {

namespace {

using namespace std::chrono_literals;
using Why = NoReply::Why;

Graph timed(Timeouts timeouts) {
  return *TestGraph("g").trigger("t").worker("work", "topic").after("t").timeouts(timeouts).build();
}
Graph once(WhenUnknown then) {
  return *TestGraph("g").trigger("t").worker("work", "topic").after("t").at_most_once(then).build();
}

Message silence(const WorkItem& item, Why why) {
  return {item.request.derive(Guid::Purpose::no_reply, static_cast<std::uint64_t>(why)),
          NoReply{item.activity, item.token, why}};
}

class Silence : public testing::TestWithParam<Fusion> {};
INSTANTIATE_TEST_SUITE_P(fusion, Silence, testing::Values(Fusion::on, Fusion::off),
                         [](const auto& one) { return one.param == Fusion::on ? "on" : "off"; });

TEST(work_times, are_counted_from_the_right_moment) {
  TestJob job(timed(Timeouts().queue(1s).attempt(2s).heartbeat(3s).total(4s)));
  job.run();
  const WorkItem waiting = *job.state.find_work(ActivitySeq(1));
  EXPECT_EQ(waiting.life.queue_by - Instant::from_micros(job.now), 1s);
  EXPECT_EQ(waiting.life.deadline - Instant::from_micros(job.now), 4s);
  EXPECT_EQ(wake_of(waiting), waiting.life.queue_by);
  job.now = 500'000;
  const WorkItem local = job.claim(1);
  EXPECT_EQ(local.life.queue_by, waiting.life.queue_by) << "it still waits for a thread";
  EXPECT_EQ(local.life.attempt_by, Instant()) << "and no thread has begun";
  EXPECT_EQ(local.life.heartbeat_by, Instant());
  EXPECT_EQ(wake_of(local), local.life.deadline);
  WorkItem running = waiting;
  begin_run(running, "far", Epoch(0), Instant::from_micros(60'000'000), Instant::from_micros(job.now));
  EXPECT_EQ(running.life.queue_by, Instant());
  EXPECT_EQ(running.life.attempt_by, Instant::from_micros(2'500'000));
  EXPECT_EQ(running.life.heartbeat_by, Instant::from_micros(3'500'000));
  EXPECT_EQ(wake_of(running), running.life.attempt_by);
  WorkItem held = running;
  held.held = true;
  EXPECT_EQ(wake_of(held), Instant());
  WorkItem answered = running;
  answered.life = WorkLife{};
  answered.epoch = Epoch(0);
  answered.lease_until = Instant::from_micros(std::numeric_limits<std::int64_t>::max());
  EXPECT_EQ(wake_of(answered), Instant()) << "an error that waits for its job's word has no time of its own";
  release(held, Instant::from_micros(9'000'000));
  EXPECT_EQ(held.life.attempt_by, Instant());
  EXPECT_EQ(held.life.queue_by, Instant::from_micros(10'000'000));
}

TEST(work_times, a_local_run_that_is_given_back_counts_as_if_it_had_not_been_handed_out) {
  TestJob job(timed(Timeouts().queue(1s)));
  job.run();
  const WorkItem waiting = *job.state.find_work(ActivitySeq(1));
  const Instant now = Instant::from_micros(500'000);
  for (const Began began : {Began::no, Began::yes}) {
    WorkItem item = waiting;
    begin_run(item, "local", Epoch(3), Instant(), now);
    const WorkToken first = item.token;
    EXPECT_EQ(item.runs, 1u);
    release(item, now, began);
    EXPECT_EQ(item.runs, 0u);
    // If no thread began the attempt, the wait continues; after an attempt a new wait begins.
    EXPECT_EQ(item.life.queue_by, began == Began::no ? waiting.life.queue_by : now + Duration(1s));
    begin_run(item, "local", Epoch(4), Instant(), now);
    EXPECT_EQ(item.runs, 1u);
    EXPECT_NE(item.token, first) << "who was given the first run is stale";
  }
  WorkItem far = waiting;
  begin_run(far, "far", Epoch(0), Instant::from_micros(60'000'000), now);
  release(far, now);
  EXPECT_EQ(far.runs, 1u) << "a remote worker began it";
}

TEST(work_times, a_claim_that_takes_over_a_lost_run_begins_a_new_wait) {
  TestJob job(timed(Timeouts().queue(1s)));
  job.run();
  WorkItem item = *job.state.find_work(ActivitySeq(1));
  begin_run(item, "a", Epoch(1), Instant(), Instant::from_micros(0));
  begin_run(item, "b", Epoch(2), Instant(), Instant::from_micros(9'000'000));
  EXPECT_EQ(item.life.queue_by, Instant::from_micros(10'000'000));
  EXPECT_EQ(item.runs, 2u);
}

TEST_P(Silence, each_kind_ends_an_activity_that_is_not_tried_again) {
  for (const Why why : {Why::queue, Why::attempt, Why::heartbeat, Why::total}) {
    TestJob job(timed(Timeouts()), GetParam());
    job.run();
    const WorkItem item = why == Why::queue ? *job.state.find_work(ActivitySeq(1)) : job.claim(1);
    job.deliver_local(silence(item, why));
    job.run();
    EXPECT_EQ(job.state.job.status, JobStatus::failed);
    EXPECT_EQ(job.state.find(ActivitySeq(1))->code, 408);
    EXPECT_NE(job.state.job.reason.find(name_of(why)), std::string::npos) << job.state.job.reason;
    EXPECT_TRUE(job.inbox.empty());
  }
}

TEST_P(Silence, an_attempt_that_took_too_long_is_tried_again_by_the_policy) {
  TestJob job(*TestGraph("g")
                   .trigger("t")
                   .worker("work", "x")
                   .after("t")
                   .retry(Retry().attempts(2).when_exhausted(WhenExhausted::park))
                   .build(),
              GetParam());
  job.run();
  job.deliver_local(silence(job.claim(1), Why::attempt));
  job.run();
  EXPECT_EQ(job.state.job.status, JobStatus::running);
  EXPECT_EQ(job.state.find_work(ActivitySeq(1))->life.failure_code, 408);
}

TEST_P(Silence, the_word_about_an_earlier_run_changes_nothing) {
  TestJob job(timed(Timeouts()), GetParam());
  job.run();
  const WorkItem first = job.claim(1);
  job.claim(1);
  job.deliver_local(silence(first, Why::attempt));
  EXPECT_EQ(job.run(), 0);
}

TEST_P(Silence, an_answer_and_its_timeout_in_one_bundle_conclude_once) {
  for (const bool answer_first : {true, false}) {
    TestJob job(timed(Timeouts()), GetParam());
    job.run();
    const WorkItem item = job.claim(1);
    if (answer_first) job.deliver_local(TestJob::answer(item, ReplyStatus::success));
    job.deliver_local(silence(item, Why::attempt));
    if (!answer_first) job.deliver_local(TestJob::answer(item, ReplyStatus::success));
    job.run();
    EXPECT_EQ(job.state.job.status, answer_first ? JobStatus::completed : JobStatus::failed);
    EXPECT_EQ(job.state.job.completions, 1u);
    EXPECT_EQ(job.state.find(ActivitySeq(1))->ledger.entries(), 1u);
  }
}

TEST_P(Silence, a_lost_run_that_may_act_again_is_left_to_be_handed_out) {
  TestJob job(timed(Timeouts()), GetParam());
  job.run();
  job.deliver_local(silence(job.claim(1), Why::lost));
  EXPECT_EQ(job.run(), 0);
}

TEST_P(Silence, a_lost_run_that_may_act_once_is_unknown_until_somebody_settles_it) {
  for (const Verdict::Kind kind : {Verdict::Kind::done, Verdict::Kind::failed, Verdict::Kind::retry}) {
    TestJob job(once(WhenUnknown::hold), GetParam());
    job.run();
    const WorkItem item = job.claim(1);
    job.deliver_local(silence(item, Why::lost));
    EXPECT_EQ(job.run(), 1);
    EXPECT_TRUE(job.state.find_work(ActivitySeq(1))->life.unknown);
    EXPECT_EQ(job.state.find_work(ActivitySeq(1))->token, item.token);
    job.deliver_local(silence(item, Why::lost));
    EXPECT_EQ(job.run(), 0) << "it is said once";
    job.ask(Verdict{ActivitySeq(1), kind, 200, "found"});
    job.run();
    EXPECT_TRUE(job.inbox.empty());
    if (kind == Verdict::Kind::done) {
      EXPECT_EQ(job.state.job.status, JobStatus::completed);
      EXPECT_EQ(job.state.job.result, Payload("found"));
    } else if (kind == Verdict::Kind::failed) {
      EXPECT_EQ(job.state.job.status, JobStatus::failed);
    } else {
      EXPECT_EQ(job.state.find_work(ActivitySeq(1))->token, WorkToken(0));
      EXPECT_FALSE(job.state.find_work(ActivitySeq(1))->life.unknown);
      job.work(1);
      EXPECT_EQ(job.state.job.status, JobStatus::completed);
    }
  }
}

TEST_P(Silence, a_late_answer_settles_an_unknown_effect) {
  TestJob job(once(WhenUnknown::hold), GetParam());
  job.run();
  const WorkItem item = job.claim(1);
  job.deliver_local(silence(item, Why::attempt));
  job.run();
  EXPECT_TRUE(job.state.find_work(ActivitySeq(1))->life.unknown) << "a run that took too long may have acted";
  job.deliver_local(TestJob::answer(item, ReplyStatus::success));
  job.run();
  EXPECT_EQ(job.state.job.status, JobStatus::completed);
}

TEST_P(Silence, a_verdict_on_what_is_not_unknown_changes_nothing) {
  TestJob job(once(WhenUnknown::hold), GetParam());
  job.run();
  job.claim(1);
  job.ask(Verdict{ActivitySeq(1), Verdict::Kind::done, 200, "wrong"});
  job.run();
  EXPECT_EQ(job.state.job.status, JobStatus::running);
  EXPECT_TRUE(job.inbox.empty());
}

TEST_P(Silence, retry_as_policy_hands_a_lost_run_out_under_the_same_key) {
  TestJob job(once(WhenUnknown::retry), GetParam());
  job.run();
  const WorkItem item = job.claim(1);
  job.deliver_local(silence(item, Why::lost));
  job.run();
  const WorkItem* again = job.state.find_work(ActivitySeq(1));
  EXPECT_EQ(again->token, WorkToken(0));
  EXPECT_FALSE(again->life.unknown);
  EXPECT_EQ(again->request, item.request);
}

}  // namespace

}  // namespace pawl::core
