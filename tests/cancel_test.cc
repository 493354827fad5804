// Work that is no longer needed: running attempts are cancelled, and work that has not begun does not begin.
#include <atomic>

#include "life_test.h"

namespace pawl {
namespace {

using namespace testing;

class CancelTest : public LifeTest {};

TEST_P(CancelTest, a_running_worker_sees_that_its_job_was_interrupted) {
  std::atomic<bool> begun{false}, told{false};
  runtime = start_with(options(), step_graph(), [&](Work& work) {
    begun = true;
    EXPECT_FALSE(work.cancelled());
    while (!work.cancelled()) std::this_thread::sleep_for(1ms);
    told = true;
    return Reply::success("ignored");
  });
  const RunId run = submit_step(*runtime);
  ASSERT_TRUE(comes_true([&] { return begun.load(); }));
  ASSERT_TRUE(runtime->job(run).interrupt("not wanted any more").ok());
  const JobView end = end_of(*runtime, run);
  EXPECT_EQ(end.status, JobStatus::interrupted);
  EXPECT_EQ(end.reason, "not wanted any more");
  EXPECT_TRUE(comes_true([&] { return told.load(); }));
  EXPECT_TRUE(end.result.empty());
}

TEST_P(CancelTest, work_that_waits_for_a_thread_is_not_begun_and_its_place_is_free_again) {
  Gate gate;
  Notes begun;
  RuntimeOptions few = options();
  few.worker_threads = 1;
  few.worker_queue = 8;
  runtime = start_with(few, step_graph(), [&](Work& work) {
    begun.add(work.input().str());
    if (work.input().str() == "first") gate.pass();
    return Reply::success();
  });
  const RunId first = submit_step(*runtime, "first", "first");
  ASSERT_TRUE(comes_true([&] { return begun.size() == 1; }));
  for (int round = 0; round < 4; ++round) {  // four times as many as there are places
    std::vector<RunId> unwanted;
    for (int i = 0; i < 7; ++i) {
      const std::string id = std::to_string(round) + "-" + std::to_string(i);
      unwanted.push_back(submit_step(*runtime, id, "unwanted"));
    }
    for (const RunId run : unwanted) {
      ASSERT_TRUE(runtime->job(run).interrupt().ok());
      EXPECT_EQ(end_of(*runtime, run).status, JobStatus::interrupted);
    }
  }
  const RunId last = submit_step(*runtime, "last", "last");
  gate.open();
  EXPECT_EQ(end_of(*runtime, first).status, JobStatus::completed);
  EXPECT_EQ(end_of(*runtime, last).status, JobStatus::completed);
  EXPECT_EQ(begun.all(), (std::vector<std::string>{"first", "last"}));
}

TEST_P(CancelTest, the_other_branches_of_a_job_that_fails_are_told) {
  GraphBuilder builder("step");
  builder.trigger("t").worker("act", "work").after("t").worker("wrong", "wrong").after("t");
  std::atomic<bool> begun{false}, told{false};
  runtime = open_with(options(), std::move(*builder.build()), [&](Work& work) {
    begun = true;
    while (!work.cancelled()) std::this_thread::sleep_for(1ms);
    told = true;
    return Reply::success();
  });
  ASSERT_TRUE(runtime
                  ->serve("wrong",
                          [&](Work&) {
                            EXPECT_TRUE(comes_true([&] { return begun.load(); }));
                            return Reply::error("\"no\"");
                          })
                  .ok());
  ASSERT_TRUE(runtime->launch().ok());
  EXPECT_EQ(end_of(*runtime, submit_step(*runtime)).status, JobStatus::failed);
  EXPECT_TRUE(comes_true([&] { return told.load(); }));
}

INSTANTIATE_TEST_SUITE_P(store, CancelTest, every_setting, setting_name);

}  // namespace
}  // namespace pawl
