// Which thread does the engine's work (docs/decisions/098-borrowed-turns.md).
#include <algorithm>
#include <atomic>
#include <future>
#include <mutex>
#include <thread>
#include <vector>

#include "testing.h"

namespace pawl {
namespace {

using namespace testing;

TEST(Turns, the_steps_of_a_single_job_stay_on_its_workers_thread) {
  const TempDir dir;
  std::mutex mutex;
  std::vector<std::thread::id> calls, commits;
  const auto runtime = start_runtime({.store = dir / "pawl.db", .fusion = false}, [&](Work& work) {
    std::this_thread::sleep_for(10ms);  // until the engine's thread sleeps, also on a busy machine
    const std::lock_guard lock(mutex);
    calls.push_back(std::this_thread::get_id());
    return Reply::success(work.input());
  });
  ASSERT_NE(runtime, nullptr);
  runtime
      ->observe([&](const Event& event) {
        if (event.kind != Event::Kind::activity_closed) return;
        const std::lock_guard lock(mutex);
        commits.push_back(std::this_thread::get_id());
      })
      .keep();
  for (int i = 0; i < 20; ++i) {
    const auto job = runtime->start("chain", Payload("x"), {.id = "j" + std::to_string(i)});
    ASSERT_TRUE(job.ok()) << to_string(job.error());
    ASSERT_TRUE(job->wait(20s).ok());
  }
  const std::lock_guard lock(mutex);
  const auto borrowed = std::count_if(commits.begin(), commits.end(), [&](const std::thread::id& thread) {
    return std::find(calls.begin(), calls.end(), thread) != calls.end();
  });
  // Of each job's three activities the first one is closed without a worker.
  EXPECT_GE(commits.size(), 60u);
  EXPECT_GE(borrowed, 20);
}

// The thread of a worker that goes on does nothing for the engine: its interim reply wakes the engine's own.
TEST(Turns, an_interim_reply_is_handled_while_its_worker_goes_on) {
  const TempDir dir;
  std::promise<void> follower;
  std::atomic<bool> in_time{false};
  const auto runtime = start_runtime({.store = dir / "pawl.db", .worker_threads = 2}, [&](Work& work) {
    if (work.input().str() == "interim") follower.set_value();
    if (work.input().str() != "x") return Reply::success("");
    std::this_thread::sleep_for(50ms);  // until the engine's thread sleeps
    work.pending(Payload("interim"));
    in_time = follower.get_future().wait_for(20s) == std::future_status::ready;
    return Reply::success("last");
  });
  ASSERT_NE(runtime, nullptr);
  const auto job = runtime->start("chain", Payload("x"), {.id = "j"});
  ASSERT_TRUE(job.ok()) << to_string(job.error());
  ASSERT_TRUE(job->wait(40s).ok());
  EXPECT_TRUE(in_time);
}

}  // namespace
}  // namespace pawl
