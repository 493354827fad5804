// Jobs that start later, punctual timers, and jobs that are removed when their time is over.
#include <atomic>

#include "life_test.h"

namespace pawl {
namespace {

using namespace testing;

Instant now() {
  return Instant::from_micros(
      std::chrono::duration_cast<std::chrono::microseconds>(std::chrono::system_clock::now().time_since_epoch())
          .count());
}

class DelayTest : public LifeTest {
 protected:
  // A server's clock is known only to half a round trip: an instant may come earlier there than here.
  bool has_come(Instant at) const { return GetParam().place.is_server || now() >= at; }
};

TEST_P(DelayTest, a_job_starts_after_its_delay_and_is_seen_before) {
  runtime = start_with(options(), step_graph(), echo);
  const auto job = runtime->start("step", Payload("x"), {.id = "j", .delay = 100ms});
  ASSERT_TRUE(job.ok());
  const auto early = job->inspect();
  ASSERT_TRUE(early.ok());
  EXPECT_TRUE(early->activities.empty() || has_come(early->job.created_at + 100ms));
  const JobView end = end_of(*runtime, job->run());
  EXPECT_EQ(end.result.str(), "x+");
  EXPECT_GE(end.closed_at, end.created_at + 100ms);
}

TEST_P(DelayTest, a_timer_fires_within_10_ms_of_its_time) {
  runtime = start_with(options(), step_graph(), echo);
  const Duration late_max =
      (GetParam().place.is_server ? 100ms : 10ms) * slow_factor;  // a server's commits take longer
  Duration best = 1h;
  for (int i = 0; i < 20 && best > late_max; ++i) {
    Instant begun;
    const auto job = runtime->start("step", Payload("x"), {.id = "j" + std::to_string(i), .delay = 50ms});
    ASSERT_TRUE(job.ok());
    const JobView end = end_of(*runtime, job->run());
    EXPECT_GE(end.closed_at, end.created_at + 50ms);
    best = std::min(best, end.closed_at - (end.created_at + 50ms));
  }
  EXPECT_LE(best, late_max);
}

TEST_P(DelayTest, a_job_that_has_not_started_can_be_interrupted) {
  std::atomic<int> runs{0};
  runtime = start_with(options(), step_graph(), [&](Work& work) {
    ++runs;
    return echo(work);
  });
  const auto job = runtime->start("step", Payload(), {.id = "j", .delay = 150ms});
  ASSERT_TRUE(job.ok());
  ASSERT_TRUE(job->interrupt("changed my mind").ok());
  EXPECT_EQ(end_of(*runtime, job->run()).status, JobStatus::interrupted);
  std::this_thread::sleep_for(250ms);
  EXPECT_EQ(runs, 0);
  EXPECT_EQ(status_of(*runtime, job->run()), JobStatus::interrupted);
}

TEST_P(DelayTest, a_job_that_is_paused_before_it_starts_starts_when_it_is_resumed) {
  runtime = start_with(options(), step_graph(), echo);
  const auto job = runtime->start("step", Payload("x"), {.id = "j", .delay = 50ms});
  ASSERT_TRUE(job.ok());
  if (!job->pause()) GTEST_SKIP() << "this machine took 50 ms for one request";
  EXPECT_FALSE(job->wait(200ms).ok());
  ASSERT_TRUE(job->resume().ok());
  EXPECT_EQ(end_of(*runtime, job->run()).result.str(), "x+");
}

TEST_P(DelayTest, the_time_of_a_job_begins_when_it_starts) {
  runtime = start_with(options(), step_graph(), nullptr);
  const auto job = runtime->start("step", Payload(), {.id = "j", .delay = 50ms, .end_within = 50ms});
  ASSERT_TRUE(job.ok());
  const JobView end = end_of(*runtime, job->run());
  EXPECT_EQ(end.status, JobStatus::interrupted);
  EXPECT_GE(end.closed_at, end.created_at + 100ms);
}

TEST_P(DelayTest, a_job_that_need_not_be_kept_leaves_nothing_but_its_key) {
  runtime = start_with(options(), step_graph(), echo);
  const auto job = runtime->start("step", Payload("x"), {.id = "j", .keep = 50ms});
  ASSERT_TRUE(job.ok());
  const auto end = job->wait(20s);
  ASSERT_TRUE(end.ok());
  EXPECT_EQ(end->remove_at, end->closed_at + 50ms);
  ASSERT_TRUE(comes_true([&] { return !job->inspect().ok(); }));
  EXPECT_TRUE(has_come(end->remove_at));
  EXPECT_TRUE(fails_with(job->inspect(), ErrorCode::not_found, {}));
  EXPECT_TRUE(runtime->list({})->empty());
  const auto again = runtime->start("step", Payload("x"), {.id = "j"});
  ASSERT_TRUE(again.ok());
  EXPECT_FALSE(again->created()) << "a late duplicate of its submit is still recognised";
  EXPECT_EQ(again->run(), job->run());
}

TEST_P(DelayTest, a_key_whose_time_is_over_is_free_again) {
  runtime = start_with(options(), step_graph(), echo);
  const RunId run = submit_step(*runtime);
  end_of(*runtime, run);
  ASSERT_TRUE(runtime->job(run).remove({50ms}).ok());
  ASSERT_TRUE(comes_true([&] {
    const auto again = runtime->start("step", Payload("x"), {.id = "j"});
    return again && again->created();
  }));
}

TEST_P(DelayTest, many_timers_of_one_moment_all_fire) {
  runtime = start_with(options(), step_graph(), echo);
  std::vector<RunId> runs;
  for (int i = 0; i < 500; ++i) {
    const auto job = runtime->start("step", Payload("x"), {.id = std::to_string(i), .delay = 200ms});
    ASSERT_TRUE(job.ok());
    runs.push_back(job->run());
  }
  for (const RunId run : runs) EXPECT_EQ(end_of(*runtime, run).result.str(), "x+");
}

INSTANTIATE_TEST_SUITE_P(store, DelayTest, every_setting, setting_name);

class DelayRestart : public LifeTest {};

TEST_P(DelayRestart, timers_that_came_due_while_nobody_ran_fire_in_the_next_life) {
  std::vector<RunId> runs;
  {
    auto first = start_with(options(), step_graph(), echo);
    for (int i = 0; i < 50; ++i) {
      const auto job = first->start("step", Payload("x"), {.id = std::to_string(i), .delay = 200ms});
      ASSERT_TRUE(job.ok());
      runs.push_back(job->run());
    }
  }
  std::this_thread::sleep_for(250ms);
  auto second = start_with(options(), step_graph(), echo);
  for (const RunId run : runs) EXPECT_EQ(end_of(*second, run).result.str(), "x+");
}

INSTANTIATE_TEST_SUITE_P(store, DelayRestart, every_lasting_setting, setting_name);

}  // namespace
}  // namespace pawl
