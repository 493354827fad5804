// Threads, stops, and workers that do not return.
#include <atomic>
#include <chrono>

#include "life_node.h"
#include "life_test.h"
#include "storm/node_process.h"

namespace pawl {
namespace {

using namespace testing;
using Clock = std::chrono::steady_clock;

class WorkersTest : public LifeTest {
 protected:
  RuntimeOptions few(std::uint32_t threads, Duration grace = 30s, Duration stop_within = 0ms) const {
    RuntimeOptions result = options();
    result.worker_threads = threads;
    result.worker_grace = grace;
    result.stop_within = stop_within;
    return result;
  }
};

Reply until_told(Work& work) {
  while (!work.cancelled()) std::this_thread::sleep_for(1ms);
  return Reply::fatal("\"told to stop\"");
}

// --- the clocks of an attempt

TEST_P(WorkersTest, an_attempts_time_does_not_pass_while_it_waits_for_a_thread) {
  std::atomic<int> calls{0};
  runtime = start_with(few(2), step_graph([](auto& act) { act.timeouts(Timeouts().attempt(400ms).heartbeat(400ms)); }),
                       [&](Work&) {
                         ++calls;
                         std::this_thread::sleep_for(20ms);
                         return Reply::success("done");
                       });
  std::vector<RunId> runs;
  for (int i = 0; i < 60; ++i) runs.push_back(submit_step(*runtime, "j" + std::to_string(i)));
  for (const RunId run : runs) EXPECT_EQ(end_of(*runtime, run).status, JobStatus::completed);
  EXPECT_EQ(calls, 60);
}

TEST_P(WorkersTest, the_second_run_has_the_same_time_as_the_first) {
  Notes took;
  std::atomic<int> calls{0};
  runtime = start_with(few(2), step_graph([](auto& act) {
                         act.timeouts(Timeouts().attempt(60ms)).retry(Retry().attempts(3).first_delay(1ms));
                       }),
                       [&](Work& work) {
                         if (++calls == 3) return Reply::success("third");
                         const auto begun = Clock::now();
                         until_told(work);
                         const bool in_time = Clock::now() - begun >= 60ms && Clock::now() - begun < 5s;
                         took.add(in_time ? "in time" : "not in time");
                         return Reply::fatal("\"too late\"");
                       });
  EXPECT_EQ(end_of(*runtime, submit_step(*runtime)).result.str(), "third");
  ASSERT_TRUE(comes_true([&] { return took.all().size() == 2; }));  // the second may note it behind the third's end
  EXPECT_EQ(took.all(), (std::vector<std::string>{"in time", "in time"}));
}

TEST_P(WorkersTest, the_wait_for_a_thread_counts_as_waiting_for_a_worker) {
  auto gate = std::make_shared<Gate>();
  std::atomic<int> begun{0};
  runtime = start_with(few(1), step_graph([](auto& act) { act.timeouts(Timeouts().queue(60ms)); }), [&, gate](Work&) {
    ++begun;
    gate->pass();
    return Reply::success("done");
  });
  const RunId first = submit_step(*runtime, "first");
  ASSERT_TRUE(comes_true([&] { return begun == 1; }));
  const JobView late = end_of(*runtime, submit_step(*runtime, "second"));
  EXPECT_EQ(late.status, JobStatus::failed);
  EXPECT_NE(late.reason.find("its queue timeout ran out"), std::string::npos) << late.reason;
  gate->open();
  EXPECT_EQ(end_of(*runtime, first).status, JobStatus::completed);
  EXPECT_EQ(begun, 1);
}

// --- workers that do not return

TEST_P(WorkersTest, a_worker_that_does_not_return_is_reported_once_and_others_go_on) {
  auto gate = std::make_shared<Gate>();
  Notes problems;
  runtime = open_with(few(2, 30ms), step_graph([](auto& act) { act.timeouts(Timeouts().attempt(30ms)); }),
                      [gate](Work& work) {
                        if (work.input().str() == "hangs") gate->pass();
                        return Reply::success("done");
                      });
  runtime->on_problem([&](const std::string& text) { problems.add(text); }).keep();
  ASSERT_TRUE(runtime->launch().ok());
  for (int round = 0; round < 2; ++round) {  // each time as many as there are threads
    for (int i = 0; i < 2; ++i) {
      const JobView end = end_of(*runtime, submit_step(*runtime, std::to_string(round * 2 + i), "hangs"));
      EXPECT_NE(end.reason.find("attempt timeout"), std::string::npos) << end.reason;
    }
    EXPECT_EQ(end_of(*runtime, submit_step(*runtime, "next" + std::to_string(round))).status, JobStatus::completed);
  }
  const auto told = [&] {
    std::size_t count = 0;
    for (const std::string& text : problems.all())
      if (text.find("the worker of topic work") != std::string::npos &&
          text.find("has not returned") != std::string::npos)
        ++count;
    return count;
  };
  EXPECT_TRUE(comes_true([&] { return told() == 4; })) << told();
  gate->open();
  EXPECT_EQ(end_of(*runtime, submit_step(*runtime, "last")).status, JobStatus::completed);
  EXPECT_EQ(told(), 4u);
}

// --- stops

TEST_P(WorkersTest, a_stop_tells_who_runs_and_returns_when_they_do) {
  std::atomic<int> begun{0};
  std::atomic<bool> told{false};
  runtime = start_with(few(2, 30s, 30ms), step_graph(), [&](Work& work) {
    ++begun;
    until_told(work);
    told = true;
    return Reply::fatal("\"stopped\"");
  });
  submit_step(*runtime);
  ASSERT_TRUE(comes_true([&] { return begun == 1; }));
  const auto before = Clock::now();
  runtime->stop();
  EXPECT_TRUE(told);
  EXPECT_LT(Clock::now() - before, 10s);
  runtime.reset();
  if (!GetParam().place.outlives) return;
  runtime = start_with(few(2), step_graph(), [](Work& work) { return Reply::success(std::to_string(work.attempt())); });
  const auto run = runtime->find("j");
  ASSERT_TRUE(run.ok() && run->has_value());
  EXPECT_EQ(end_of(*runtime, (*run)->run()).result.str(), "1") << "it is handed out again, and no try was used up";
}

TEST_P(WorkersTest, what_a_worker_finishes_while_stopping_counts) {
  std::atomic<int> begun{0};
  Notes ended;
  runtime = open_with(few(2, 30s, 20ms), step_graph(), [&](Work& work) {
    ++begun;
    until_told(work);
    return Reply::success("finished");
  });
  runtime
      ->observe([&](const Event& event) {
        if (event.kind == Event::Kind::job_closed) ended.add(event.job.raw());
      })
      .keep();
  ASSERT_TRUE(runtime->launch().ok());
  submit_step(*runtime);
  ASSERT_TRUE(comes_true([&] { return begun == 1; }));
  runtime->stop();
  EXPECT_EQ(ended.all(), (std::vector<std::string>{"j"}));
}

TEST_P(WorkersTest, timeouts_go_on_while_stopping) {
  std::atomic<int> begun{0};
  runtime = start_with(few(2, 30s, 30s), step_graph([](auto& act) { act.timeouts(Timeouts().attempt(100ms)); }),
                       [&](Work& work) {
                         ++begun;
                         return until_told(work);
                       });
  const RunId run = submit_step(*runtime);
  ASSERT_TRUE(comes_true([&] { return begun == 1; }));
  const auto before = Clock::now();
  runtime->stop();
  EXPECT_LT(Clock::now() - before, 15s);
  EXPECT_EQ(status_of(*runtime, run), JobStatus::failed);
}

TEST_P(WorkersTest, a_stop_does_not_wait_for_ever_and_the_work_is_handed_out_again) {
  auto gate = std::make_shared<Gate>();
  auto begun = std::make_shared<std::atomic<int>>(0);
  auto returned = std::make_shared<std::atomic<int>>(0);
  Notes problems;
  runtime = open_with(few(2, 30ms, 10ms), step_graph(), [=](Work& work) {
    ++*begun;
    gate->pass();
    work.heartbeat(Payload("\"still here\""));  // it has no effect and does no harm
    ++*returned;
    return Reply::success(work.input());
  });
  runtime->on_problem([&](const std::string& text) { problems.add(text); }).keep();
  ASSERT_TRUE(runtime->launch().ok());
  submit_step(*runtime);
  ASSERT_TRUE(comes_true([&] { return *begun == 1; }));
  const auto before = Clock::now();
  runtime.reset();
  EXPECT_LT(Clock::now() - before, 10s);
  EXPECT_EQ(*returned, 0);
  ASSERT_EQ(problems.size(), 1u);
  EXPECT_NE(problems.all()[0].find("the worker of topic work"), std::string::npos) << problems.all()[0];
  if (GetParam().place.outlives) {
    runtime =
        start_with(few(2), step_graph(), [](Work& work) { return Reply::success(std::to_string(work.attempt())); });
    const auto run = runtime->find("j");
    ASSERT_TRUE(run.ok() && run->has_value());
    EXPECT_EQ(end_of(*runtime, (*run)->run()).result.str(), "2") << "as after a crash";
  }
  gate->open();
  EXPECT_TRUE(comes_true([&] { return *returned == 1; }));
}

INSTANTIATE_TEST_SUITE_P(store, WorkersTest, every_setting, setting_name);

class StopsTest : public ::testing::Test {
 protected:
  RuntimeOptions options() const { return {.store = dir / "store.db", .worker_threads = 1, .stop_within = 0ms}; }
  TempDir dir;
};

TEST_F(StopsTest, many_stops_use_up_nothing_and_park_nothing) {
  std::atomic<bool> finish{false};
  Notes attempts;
  const Worker worker = [&](Work& work) {
    attempts.add(std::to_string(work.attempt()));
    return finish ? Reply::success(work.input()) : until_told(work);
  };
  std::vector<RunId> runs;
  for (int stop = 0; stop < 13; ++stop) {
    const std::size_t before = attempts.size();
    const auto runtime = start_with(options(), step_graph(), worker);
    if (stop == 0)
      for (int i = 0; i < 30; ++i) runs.push_back(submit_step(*runtime, "j" + std::to_string(i)));
    ASSERT_TRUE(comes_true([&] { return attempts.size() > before; }));
  }
  finish = true;
  const auto runtime = start_with(options(), step_graph(), worker);
  const auto begun = Clock::now();
  for (const RunId run : runs) EXPECT_EQ(end_of(*runtime, run).status, JobStatus::completed);
  EXPECT_LT(Clock::now() - begun, 10s);
  for (const std::string& attempt : attempts.all()) EXPECT_EQ(attempt, "1");
}

TEST_F(StopsTest, a_kill_leaves_no_more_in_doubt_than_threads_had_begun) {
  constexpr int jobs = 60;
  {
    storm::NodeProcess node({LIFE_NODE, dir.path(), "0", 1, {"queue", "hold"}});
    ASSERT_TRUE(node.wait_for("submitted", 20s));
    ASSERT_TRUE(comes_true([&] { return lines_of(dir / "journal").size() == 2; }));
    node.kill();
  }
  std::atomic<int> calls{0};
  const auto runtime = start_with(options(), effect_graph("hold"), [&](Work&) {
    ++calls;
    return Reply::success("done");
  });
  int unknown = 0;
  for (int i = 0; i < jobs; ++i) {
    const auto run = runtime->find("e" + std::to_string(i));
    ASSERT_TRUE(run.ok() && run->has_value());
    ASSERT_TRUE(comes_true([&] {
      const Effect effect = act_of(*runtime, (*run)->run()).effect;
      return effect == Effect::unknown || effect == Effect::done;
    }));
    if (act_of(*runtime, (*run)->run()).effect == Effect::unknown) ++unknown;
  }
  EXPECT_LE(unknown, 2);
  EXPECT_EQ(calls, jobs - unknown);
}

TEST_F(StopsTest, threads_that_cannot_be_made_are_an_error_and_not_the_end_of_the_process) {
  if (sanitized) GTEST_SKIP() << "shadow memory does not fit into the address space that the test leaves";
  storm::NodeProcess node({LIFE_NODE, dir.path(), "0", 1, {"threads", "1024"}});
  EXPECT_TRUE(node.wait_for("refused", 20s));
  EXPECT_TRUE(node.wait_for("runs with two", 20s));
  EXPECT_EQ(node.wait(20s), 0);
}

}  // namespace
}  // namespace pawl
