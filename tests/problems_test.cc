// What a runtime reports: workers that give no sign of life, topics without a worker, graphs that are not deployed
// here, parked jobs. Each is reported once, shows in the job, and holds up no other job.
#include <atomic>
#include <chrono>

#include "life_test.h"

namespace pawl {
namespace {

using namespace testing;
using Clock = std::chrono::steady_clock;

constexpr std::size_t hung_threads_max = 64;  // docs/RUN.md

std::size_t count_of(const Notes& notes, const std::string& part) {
  std::size_t count = 0;
  for (const std::string& line : notes.all())
    if (line.find(part) != std::string::npos) ++count;
  return count;
}

class ProblemsTest : public LifeTest {
 protected:
  void open(RuntimeOptions with, const AppSource& graph, Worker worker) {
    runtime = open_with(std::move(with), graph, std::move(worker));
    runtime->on_problem([this](const std::string& text) { problems.add(text); }).keep();
  }
  void start(RuntimeOptions with, const AppSource& graph, Worker worker) {
    open(std::move(with), graph, std::move(worker));
    ASSERT_TRUE(runtime->launch().ok());
  }
  std::string obstacles_of(RunId run) {
    const auto detail = runtime->job(run).inspect();
    std::string text;
    if (detail)
      for (const std::string& obstacle : detail->obstacles) text += obstacle + "\n";
    return text;
  }
  Notes problems;
};

// --- workers that give no sign of life

TEST_P(ProblemsTest, a_worker_that_never_returns_is_replaced_and_its_late_answer_counts) {
  auto gate = std::make_shared<Gate>();
  RuntimeOptions with = options();
  with.worker_threads = 1;
  with.worker_silence = 50ms;
  std::atomic<int> hanging{0};
  start(with, step_graph(), [&, gate](Work& work) {
    if (work.input().str() != "hangs") return Reply::success("done");
    ++hanging;
    gate->pass();
    return Reply::success("late");
  });
  const RunId first = submit_step(*runtime, "first", "hangs");
  const RunId second = submit_step(*runtime, "second", "hangs");
  EXPECT_EQ(end_of(*runtime, submit_step(*runtime, "next")).result.str(), "done") << "others go on";
  EXPECT_TRUE(comes_true([&] { return hanging == 2; }));
  EXPECT_EQ(status_of(*runtime, first), JobStatus::running);
  EXPECT_TRUE(comes_true([&] { return count_of(problems, "neither an answer nor a heartbeat") == 1; }));
  gate->open();
  EXPECT_EQ(end_of(*runtime, first).result.str(), "late");
  EXPECT_EQ(end_of(*runtime, second).result.str(), "late");
  EXPECT_EQ(hanging, 2) << "nobody ran it a second time";
  EXPECT_EQ(count_of(problems, "neither an answer"), 1u) << "one topic is one problem";
}

TEST_P(ProblemsTest, a_worker_that_beats_is_not_silent) {
  RuntimeOptions with = options();
  with.worker_threads = 1;
  with.worker_silence = 200ms;
  start(with, step_graph(), [](Work& work) {
    for (int i = 0; i < 60; ++i) {
      work.heartbeat();
      std::this_thread::sleep_for(10ms);
    }
    return Reply::success("done");
  });
  EXPECT_EQ(end_of(*runtime, submit_step(*runtime)).result.str(), "done");
  EXPECT_EQ(problems.all(), std::vector<std::string>{});
}

TEST_P(ProblemsTest, a_silent_worker_hears_that_its_job_is_over) {
  RuntimeOptions with = options();
  with.worker_threads = 1;
  with.worker_silence = 30ms;
  std::atomic<bool> told{false};
  start(with, step_graph(), [&](Work& work) {
    while (!work.cancelled()) std::this_thread::sleep_for(1ms);
    told = true;
    return Reply::fatal("\"told\"");
  });
  const RunId run = submit_step(*runtime);
  EXPECT_TRUE(comes_true([&] { return problems.size() == 1; }));
  ASSERT_TRUE(runtime->job(run).interrupt("enough").ok());
  EXPECT_EQ(end_of(*runtime, run).status, JobStatus::interrupted);
  EXPECT_TRUE(comes_true([&] { return told.load(); }));
}

INSTANTIATE_TEST_SUITE_P(store, ProblemsTest, every_store, setting_name);

// --- on one store: the following does not depend on the store

class ProblemsHereTest : public ProblemsTest {};

TEST_P(ProblemsHereTest, replacements_end_at_a_limit_and_begin_again_when_workers_return) {
  auto gate = std::make_shared<Gate>();
  auto hanging = std::make_shared<std::atomic<std::size_t>>(0);
  RuntimeOptions with = options();
  with.worker_threads = 2;
  with.worker_silence = 20ms;
  start(with, step_graph(), [=](Work& work) {
    if (work.input().str() == "hangs") {
      ++*hanging;
      gate->pass();
    }
    return Reply::success("done");
  });
  std::vector<RunId> runs;
  for (std::size_t i = 0; i < hung_threads_max + 10; ++i)
    runs.push_back(submit_step(*runtime, "j" + std::to_string(i), "hangs"));
  ASSERT_TRUE(comes_true([&] { return *hanging == hung_threads_max + 2; })) << *hanging;
  const RunId waits = submit_step(*runtime, "waits");
  std::this_thread::sleep_for(200ms);
  EXPECT_EQ(*hanging, hung_threads_max + 2) << "no more threads than that";
  EXPECT_EQ(status_of(*runtime, waits), JobStatus::running);
  gate->open();
  for (const RunId run : runs) EXPECT_EQ(end_of(*runtime, run).status, JobStatus::completed);
  EXPECT_EQ(end_of(*runtime, waits).status, JobStatus::completed);
}

TEST_P(ProblemsHereTest, a_stop_returns_in_its_time_though_all_threads_hang_at_the_limit) {
  auto gate = std::make_shared<Gate>();
  auto hanging = std::make_shared<std::atomic<std::size_t>>(0);
  RuntimeOptions with = options();
  with.worker_threads = 2;
  with.worker_grace = 20ms;
  start(with, step_graph([](auto& act) { act.timeouts(Timeouts().attempt(10ms)); }), [=](Work&) {
    ++*hanging;
    gate->pass();
    return Reply::success("done");
  });
  for (std::size_t i = 0; i < hung_threads_max + 2; ++i) submit_step(*runtime, "j" + std::to_string(i));
  ASSERT_TRUE(comes_true([&] { return *hanging == hung_threads_max + 2; })) << *hanging;
  EXPECT_TRUE(comes_true([&] { return count_of(problems, "it keeps its thread") > 0; }));
  const auto before = Clock::now();
  runtime->stop(300ms);
  EXPECT_LT(Clock::now() - before, slow_factor * 5s);
  runtime.reset();
  gate->open();
}

TEST_P(ProblemsHereTest, a_stop_within_a_time_of_its_own) {
  RuntimeOptions with = options();
  with.worker_grace = 30s;
  with.stop_within = 60s;
  std::atomic<int> begun{0};
  start(with, step_graph(), [&](Work& work) {
    ++begun;
    while (!work.cancelled()) std::this_thread::sleep_for(1ms);
    return Reply::fatal("\"told\"");
  });
  submit_step(*runtime);
  ASSERT_TRUE(comes_true([&] { return begun == 1; }));
  const auto before = Clock::now();
  runtime->stop(500ms);
  EXPECT_LT(Clock::now() - before, slow_factor * 5s) << "the grace is part of that time";
}

// --- what jobs wait for

TEST_P(ProblemsHereTest, a_topic_that_nobody_serves_is_said_once_and_shows_in_the_job) {
  start(options(), step_graph(), {});
  std::vector<RunId> runs;
  for (int i = 0; i < 30; ++i) runs.push_back(submit_step(*runtime, "j" + std::to_string(i)));
  EXPECT_EQ(obstacles_of(runs[0]), "") << "it may come in a moment";
  EXPECT_TRUE(comes_true([&] { return problems.size() > 0; }, 30s));
  for (const RunId run : {runs.front(), runs.back()}) {
    const auto shows = [&] {
      return obstacles_of(run).starts_with("act waits: nobody has taken its work of topic work for 1");
    };
    EXPECT_TRUE(comes_true(shows)) << obstacles_of(run);
  }
  ASSERT_TRUE(runtime->serve("work", [](Work&) { return Reply::success("done"); }).ok());
  for (const RunId run : runs) EXPECT_EQ(end_of(*runtime, run).status, JobStatus::completed);
  EXPECT_EQ(obstacles_of(runs[0]), "");
  ASSERT_EQ(problems.size(), 1u) << problems.all()[1];
  EXPECT_NE(problems.all()[0].find("nobody serves topic work in this process: work of job j"), std::string::npos)
      << problems.all()[0];
}

TEST_P(ProblemsHereTest, a_paused_topic_shows_in_the_job) {
  start(options(), step_graph(), [](Work&) { return Reply::success("done"); });
  ASSERT_TRUE(runtime->pause_topic("work").ok());
  const RunId run = submit_step(*runtime);
  EXPECT_TRUE(comes_true([&] { return obstacles_of(run) == "act waits: topic work is paused\n"; }));
  ASSERT_TRUE(runtime->resume_topic("work").ok());
  EXPECT_EQ(end_of(*runtime, run).status, JobStatus::completed);
}

TEST_P(ProblemsHereTest, parks_of_one_cause_are_said_once_and_each_shows_in_its_job) {
  start(options(), step_graph([](auto& act) { act.retry(Retry().attempts(1).when_exhausted(WhenExhausted::park)); }),
        [](Work&) { return Reply::error("\"no money\"", 402); });
  for (int i = 0; i < 30; ++i) {
    const JobView end = end_of(*runtime, submit_step(*runtime, "j" + std::to_string(i)));
    EXPECT_EQ(end.status, JobStatus::parked);
    EXPECT_NE(end.reason.find("402"), std::string::npos) << end.reason;
  }
  EXPECT_EQ(count_of(problems, "is parked"), 1u);
}

TEST_P(ProblemsHereTest, without_a_reporter_problems_go_to_standard_error) {
  ::testing::internal::CaptureStderr();
  runtime = start_with(
      options(), step_graph([](auto& act) { act.retry(Retry().attempts(1).when_exhausted(WhenExhausted::park)); }),
      [](Work&) { return Reply::error("\"red \x1b[31m text\"", 402); });
  EXPECT_EQ(end_of(*runtime, submit_step(*runtime)).status, JobStatus::parked);
  runtime->stop();
  const std::string said = ::testing::internal::GetCapturedStderr();
  EXPECT_NE(said.find("pawl: job j is parked: "), std::string::npos) << said;
  EXPECT_EQ(said.find('\x1b'), std::string::npos) << "a terminal is told nothing";
}

INSTANTIATE_TEST_SUITE_P(store, ProblemsHereTest,
                         ::testing::ValuesIn(std::vector{settings(Outlives::any, Ways::fused).front()}), setting_name);

// The store keeps what a program deployed, so the next program that opens it can run the jobs.
TEST(GraphOfAnotherProgram, is_found_in_the_store) {
  const TempDir dir;
  const RuntimeOptions with{.store = dir / "store.db"};
  std::vector<RunId> runs;
  {
    const auto first = start_with(with, step_graph(), {});
    for (int i = 0; i < 30; ++i) runs.push_back(submit_step(*first, "j" + std::to_string(i)));
  }
  Notes problems;
  const auto second = open_runtime(with);  // with another graph
  second->on_problem([&](const std::string& text) { problems.add(text); }).keep();
  ASSERT_TRUE(second->serve("work", echo).ok());
  ASSERT_TRUE(second->launch().ok());
  for (const RunId run : runs) EXPECT_EQ(end_of(*second, run).result.str(), "x+");
  expect_runs(*second, "other");
  EXPECT_EQ(problems.size(), 0u);
}

}  // namespace
}  // namespace pawl
