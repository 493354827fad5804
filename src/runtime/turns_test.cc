#include "runtime/turns.h"

#include <gtest/gtest.h>

#include "base/limits.h"

namespace pawl::runtime {
namespace {

using std::chrono::milliseconds;

class TurnsTest : public ::testing::Test {
 protected:
  HotJob& job(std::uint64_t run) {
    if (HotJob* known = jobs_.find(RunId(run))) return *known;
    core::JobState state;
    state.job.run = RunId(run);
    HotJob& added = jobs_.add(std::move(state), nullptr);
    added.queue.emplace_back();
    return added;
  }
  std::uint64_t next() {
    const HotJob* job = turns_.next(now_);
    return job == nullptr ? 0 : job->state.job.run.raw();
  }
  // One decision of a job, and its commit.
  std::size_t serve(std::uint64_t run, bool goes_on) {
    const std::size_t steps = turns_.steps_for(job(run), now_);
    job(run).goes_on = goes_on;
    turns_.committed_in(milliseconds(1));
    return steps;
  }
  void stand(std::uint64_t run) { turns_.stand(job(run), now_); }

  HotJobs jobs_{100, 1 << 20};
  Turns turns_{jobs_};
  Duration now_ = milliseconds(1'000);
};

TEST_F(TurnsTest, the_first_in_line_is_served_first_and_once) {
  stand(1);
  stand(2);
  stand(1);
  EXPECT_EQ(next(), 1u);
  EXPECT_EQ(next(), 2u);
  EXPECT_EQ(next(), 0u);
}

TEST_F(TurnsTest, a_forgotten_job_is_passed_over) {
  stand(1);
  stand(2);
  jobs_.erase(RunId(1));
  EXPECT_EQ(next(), 2u);
}

TEST_F(TurnsTest, one_suspect_at_a_time) {
  job(1).suspect = true;
  job(2).suspect = true;
  stand(1);
  stand(2);
  EXPECT_EQ(next(), 1u);
  EXPECT_EQ(next(), 0u);
  turns_.leave(RunId(1), now_);
  EXPECT_EQ(next(), 2u);
}

TEST_F(TurnsTest, a_job_alone_takes_many_steps_and_does_not_rest) {
  EXPECT_EQ(serve(1, true), limits::steps_per_bundle_max);
  stand(1);
  EXPECT_EQ(next(), 1u);
  EXPECT_EQ(serve(1, true), limits::steps_per_bundle_max);
}

TEST_F(TurnsTest, beside_others_it_takes_few_steps_and_rests_for_some_commits) {
  serve(1, true);
  serve(2, false);
  EXPECT_EQ(serve(1, true), limits::steps_beside_others_max);
  stand(1);
  EXPECT_EQ(next(), 0u);
  EXPECT_EQ(turns_.waiting(), 1u);
  stand(2);  // the other does not wait
  EXPECT_EQ(next(), 2u);
  ASSERT_EQ(turns_.next_wake(), now_ + limits::rests_per_commit * milliseconds(1));
  now_ = *turns_.next_wake();
  EXPECT_EQ(next(), 1u);
}

TEST_F(TurnsTest, others_are_forgotten_after_a_while) {
  serve(1, true);
  serve(2, false);
  now_ += limits::beside_others_for;
  EXPECT_EQ(serve(1, true), limits::steps_per_bundle_max);
}

TEST_F(TurnsTest, two_that_go_on_by_themselves_do_not_wait_for_each_other) {
  for (int i = 0; i < 2; ++i) {
    serve(1, true);
    serve(2, true);
  }
  now_ += limits::beside_others_for;
  EXPECT_EQ(serve(1, true), limits::steps_per_bundle_max);
  EXPECT_EQ(serve(2, true), limits::steps_per_bundle_max);
  stand(1);
  EXPECT_EQ(next(), 1u);
}

TEST_F(TurnsTest, a_rest_is_bounded_and_ends_with_the_engine) {
  serve(1, true);
  serve(2, false);
  serve(1, true);
  turns_.committed_in(std::chrono::seconds(5));
  stand(1);
  EXPECT_EQ(turns_.next_wake(), now_ + limits::rest_max);
  turns_.never_rest();
  EXPECT_EQ(next(), 1u);
}

}  // namespace
}  // namespace pawl::runtime
