// The larger priority goes first, then the older work.
#include <algorithm>

#include "life_test.h"

namespace pawl {
namespace {

using namespace testing;

class PriorityTest : public LifeTest {
 protected:
  // The order in which jobs of these priorities are served by one thread that was busy when they came.
  std::vector<std::string> order_of(std::uint32_t queue) {
    Gate gate;
    Notes begun;
    RuntimeOptions one = options();
    one.worker_threads = 1;
    one.worker_queue = queue;
    runtime = start_with(one, step_graph(), [&](Work& work) {
      begun.add(work.input().str());
      if (work.input().str() == "first") gate.pass();
      return Reply::success();
    });
    std::vector<RunId> runs{submit_step(*runtime, "first", "first")};
    EXPECT_TRUE(comes_true([&] { return begun.size() == 1; }));
    int number = 0;
    for (const int priority : {0, -5, 7, 0, 7, -5, 1'000'000}) {
      const std::string name = "p" + std::to_string(priority) + "/" + std::to_string(number++);
      const auto job = runtime->start("step", Payload(name), {.id = name, .priority = priority});
      EXPECT_TRUE(job.ok()) << to_string(job.error());
      if (!job) continue;
      runs.push_back(job->run());
      EXPECT_TRUE(comes_true([&] {
        const auto work = act_of(*runtime, job->run()).work;
        return work && (queue == 1 || work->attempts > 0);
      }));
    }
    // The engine answers this after it has given the thread the earlier work.
    EXPECT_TRUE(runtime->pause_topic("nobody").ok());
    gate.open();
    for (const RunId run : runs) EXPECT_EQ(end_of(*runtime, run).status, JobStatus::completed);
    EXPECT_EQ(runtime->list({.name_space = "default"})->back().priority, 1'000'000);
    return begun.all();
  }
  const std::vector<std::string> expected{"first", "p1000000/6", "p7/2", "p7/4", "p0/0", "p0/3", "p-5/1", "p-5/5"};
};

TEST_P(PriorityTest, of_what_waits_for_a_thread_the_largest_goes_first) { EXPECT_EQ(order_of(100), expected); }

TEST_P(PriorityTest, of_what_waits_for_a_place_the_largest_goes_first) { EXPECT_EQ(order_of(1), expected); }

TEST_P(PriorityTest, that_of_an_activity_is_added_to_that_of_its_job) {
  GraphBuilder builder("step");
  builder.trigger("t").worker("low", "work").after("t").worker("high", "urgent").priority(5).after("t");
  Gate gate;
  Notes begun;
  RuntimeOptions one = options();
  one.worker_threads = 1;
  const auto worker = [&](Work& work) {
    begun.add(work.input().str() + " " + work.topic().raw());
    if (begun.size() == 1) gate.pass();
    return Reply::success();
  };
  runtime = open_with(one, std::move(*builder.build()), worker);
  ASSERT_TRUE(runtime->serve("urgent", worker).ok());
  ASSERT_TRUE(runtime->launch().ok());
  std::vector<RunId> runs{submit_step(*runtime, "zero", "zero")};
  ASSERT_TRUE(comes_true([&] { return begun.size() == 1; }));
  const auto job = runtime->start("step", Payload("three"), {.id = "three", .priority = 3});
  ASSERT_TRUE(job.ok());
  runs.push_back(job->run());
  // Step by step an activity is opened before its work exists.
  const auto waits = [&](RunId run) {
    const auto detail = runtime->job(run).inspect();
    return detail && std::count_if(detail->activities.begin(), detail->activities.end(),
                                   [](const ActivityView& activity) { return activity.work.has_value(); }) == 2;
  };
  ASSERT_TRUE(comes_true([&] { return waits(runs[0]) && waits(runs[1]); }));
  // The engine answers this after it has given the thread the earlier work.
  ASSERT_TRUE(runtime->pause_topic("nobody").ok());
  gate.open();
  for (const RunId run : runs) EXPECT_EQ(end_of(*runtime, run).status, JobStatus::completed);
  auto order = begun.all();
  order.erase(order.begin());  // it came before there was a choice, and may be either of two
  const auto at = [&](const std::string& name) { return std::find(order.begin(), order.end(), name) - order.begin(); };
  EXPECT_LT(at("three urgent"), at("three work"));
  EXPECT_LT(at("three work"), at("zero work"));
}

INSTANTIATE_TEST_SUITE_P(store, PriorityTest, every_setting, setting_name);

}  // namespace
}  // namespace pawl
