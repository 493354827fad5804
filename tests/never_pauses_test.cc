// A job that never waits: callers get answers, other jobs continue, and it can be stopped.
#include <future>
#include <thread>

#include "testing.h"

namespace pawl {
namespace {

using namespace testing;

constexpr const char* spin_app = R"(app:
  id: spin
  version: 1
  graphs:
    - subscribes: spin
      activities:
        start: {type: trigger}
        again: {type: hook}
        step: {type: hook}
        back: {type: cycle, ancestor: again}
      transitions:
        start: [{to: again}]
        again: [{to: step}]
        step: [{to: back}]
)";
constexpr std::uintmax_t log_bytes_max = 64u << 20;

class NeverPauses : public ::testing::Test {
 protected:
  void SetUp() override {
    write_file(dir_ / "spin.yaml", spin_app);
    open();
  }
  void open() {
    runtime_ = start_runtime({.store = dir_ / "pawl.db"});
    ASSERT_NE(runtime_, nullptr);
    const auto deployed = runtime_->deploy(AppFile{dir_ / "spin.yaml"});
    ASSERT_TRUE(deployed.ok()) << deployed.error().detail;
  }
  RunId spin(const std::string& id) {
    const auto job = runtime_->start("spin", Payload("{}"), {.id = id});
    EXPECT_TRUE(job.ok()) << to_string(job.error());
    return job.ok() ? job->run() : RunId(0);
  }
  // It loops: its commits fill the log.
  void await_turning() {
    const auto before = runtime_->stats().commits;
    const auto limit = std::chrono::steady_clock::now() + 20s;
    while (runtime_->stats().commits < before + 20) ASSERT_LT(std::chrono::steady_clock::now(), limit);
  }
  void expect_interrupted(RunId run) {
    const auto asked = runtime_->job(run).interrupt("enough");
    ASSERT_TRUE(asked.ok()) << to_string(asked.error());
    const auto end = runtime_->job(run).wait(20s);
    ASSERT_TRUE(end.ok()) << to_string(end.error());
    EXPECT_EQ(end->status, JobStatus::interrupted);
  }
  void expect_stops() {
    auto stopped = std::async(std::launch::async, [this] { runtime_->stop(); });
    ASSERT_EQ(stopped.wait_for(20s), std::future_status::ready) << "stop() waits for a job that never pauses";
  }

  TempDir dir_;
  std::unique_ptr<Runtime> runtime_;
};

TEST_F(NeverPauses, other_jobs_run_and_an_interrupt_is_heard) {
  const RunId one = spin("one");
  const RunId two = spin("two");
  await_turning();
  for (int i = 0; i < 20; ++i) expect_runs(*runtime_, "other-" + std::to_string(i));
  expect_interrupted(one);
  expect_interrupted(two);
}

TEST_F(NeverPauses, a_stop_leaves_it_to_the_next_start) {
  const RunId run = spin("one");
  await_turning();
  expect_stops();
  runtime_.reset();
  open();
  await_turning();
  expect_runs(*runtime_, "other");
  expect_interrupted(run);
}

TEST_F(NeverPauses, its_log_is_bounded) {
  const RunId run = spin("one");
  const auto limit = std::chrono::steady_clock::now() + 60s;
  while (runtime_->stats().bytes < 2 * log_bytes_max) {
    ASSERT_LT(std::chrono::steady_clock::now(), limit) << runtime_->stats().bytes;
    std::this_thread::sleep_for(1ms);
    ASSERT_LT(std::filesystem::file_size(dir_ / "pawl.db-wal"), log_bytes_max);
  }
  expect_interrupted(run);
}

}  // namespace
}  // namespace pawl
