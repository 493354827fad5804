// Time that runs out: of one attempt, of the wait for a worker, of all attempts together, of the job.
#include <atomic>

#include "life_test.h"

namespace pawl {
namespace {

using namespace testing;

class TimeoutTest : public LifeTest {};

// Runs until it is cancelled.
Reply until_cancelled(Work& work) {
  while (!work.cancelled()) std::this_thread::sleep_for(1ms);
  return Reply::success("too late");
}

TEST_P(TimeoutTest, a_run_that_takes_too_long_is_told_so_and_tried_again) {
  std::atomic<int> cancelled{0};
  runtime = start_with(options(), step_graph([](auto& act) {
                         act.timeouts(Timeouts().attempt(30ms)).retry(Retry().attempts(2).first_delay(1ms));
                       }),
                       [&](Work& work) {
                         if (work.attempt() > 1) return Reply::success("second");
                         until_cancelled(work);
                         ++cancelled;
                         return Reply::success("first");
                       });
  const JobView end = end_of(*runtime, submit_step(*runtime));
  EXPECT_EQ(end.status, JobStatus::completed);
  EXPECT_EQ(end.result.str(), "second");
  EXPECT_TRUE(comes_true([&] { return cancelled == 1; })) << "the first one may return later than the second";
}

TEST_P(TimeoutTest, without_another_try_a_run_that_takes_too_long_fails_with_408) {
  runtime =
      start_with(options(), step_graph([](auto& act) { act.timeouts(Timeouts().attempt(20ms)); }), until_cancelled);
  const RunId run = submit_step(*runtime);
  const JobView end = end_of(*runtime, run);
  EXPECT_EQ(end.status, JobStatus::failed);
  EXPECT_EQ(end.reason, "activity act failed with code 408: \"no answer: its attempt timeout ran out\"");
  EXPECT_EQ(act_of(*runtime, run).effect, Effect::failed);
}

TEST_P(TimeoutTest, work_that_no_worker_takes_in_time_fails_with_408) {
  runtime = start_with(options(), step_graph([](auto& act) { act.timeouts(Timeouts().queue(20ms)); }), nullptr);
  const JobView end = end_of(*runtime, submit_step(*runtime));
  EXPECT_EQ(end.status, JobStatus::failed);
  EXPECT_NE(end.reason.find("its queue timeout ran out"), std::string::npos) << end.reason;
}

TEST_P(TimeoutTest, all_tries_together_end_when_their_time_is_over) {
  runtime = start_with(
      options(), step_graph([](auto& act) {
        act.timeouts(Timeouts().total(50ms)).retry(Retry().attempts(1000).first_delay(1ms).longest_delay(1ms));
      }),
      [](Work&) { return Reply::error("\"no\""); });
  const JobView end = end_of(*runtime, submit_step(*runtime));
  // The last error or the end of the time, whichever is noticed first: the next attempt would begin too late.
  EXPECT_NE(end.status, JobStatus::completed);
  EXPECT_FALSE(end.reason.empty());
}

TEST_P(TimeoutTest, a_run_that_hangs_ends_with_the_time_of_all_tries) {
  runtime = start_with(options(), step_graph([](auto& act) { act.timeouts(Timeouts().total(50ms)); }), until_cancelled);
  const JobView end = end_of(*runtime, submit_step(*runtime));
  EXPECT_EQ(end.status, JobStatus::failed);
  EXPECT_NE(end.reason.find("its total timeout ran out"), std::string::npos) << end.reason;
}

TEST_P(TimeoutTest, an_answer_in_time_is_not_disturbed_by_the_timers) {
  runtime = start_with(
      options(), step_graph([](auto& act) { act.timeouts(Timeouts().attempt(1h).heartbeat(1h).queue(1h).total(1h)); }),
      echo);
  for (int i = 0; i < 20; ++i) {
    const JobView end = end_of(*runtime, submit_step(*runtime, "j" + std::to_string(i)));
    EXPECT_EQ(end.result.str(), "x+");
  }
}

TEST_P(TimeoutTest, a_job_beyond_its_time_is_interrupted_and_its_worker_told) {
  std::atomic<bool> began{false};
  std::atomic<bool> told{false};
  runtime = start_with(options(), step_graph(), [&](Work& work) {
    began = true;
    const Reply reply = until_cancelled(work);
    told = true;
    return reply;
  });
  // Until the worker has had enough time to begin.
  for (Duration within = 30ms; !began; within *= 2) {
    ASSERT_LT(within, 60s);
    const auto job =
        runtime->start("step", Payload(), {.id = "j" + std::to_string(within.count()), .end_within = within});
    ASSERT_TRUE(job.ok());
    const JobView end = end_of(*runtime, job->run());
    EXPECT_EQ(end.status, JobStatus::interrupted);
    EXPECT_EQ(end.reason, "the job ran out of its time");
    EXPECT_EQ(end.deadline, end.created_at + within);
  }
  EXPECT_TRUE(comes_true([&] { return told.load(); }));
}

TEST_P(TimeoutTest, a_job_that_ends_in_time_is_not_interrupted_later) {
  runtime = start_with(options(), step_graph(), echo);
  const auto job = runtime->start("step", Payload("x"), {.id = "j", .end_within = 200ms});
  ASSERT_TRUE(job.ok());
  if (end_of(*runtime, job->run()).status != JobStatus::completed)
    GTEST_SKIP() << "this machine took 200 ms for one step";
  std::this_thread::sleep_for(300ms);
  EXPECT_EQ(status_of(*runtime, job->run()), JobStatus::completed);
}

INSTANTIATE_TEST_SUITE_P(store, TimeoutTest, every_setting, setting_name);

}  // namespace
}  // namespace pawl
