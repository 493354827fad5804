// Waiting for the end of a job: one wake-up when it has ended, and nothing before.
#include "runtime/end_waiters.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "base/limits.h"
#include "pawl/runtime.h"
#include "runtime/local_runtime.h"
#include "store/fault/store.h"
#include "store/memory/store.h"

namespace pawl::runtime {

namespace {

using namespace std::chrono_literals;

core::JobRow ended_job(std::uint64_t run) {
  core::JobRow job;
  job.run = RunId(run);
  job.status = core::JobStatus::completed;
  return job;
}

// How often this thread went to sleep so far.
long sleeps_of_this_thread() {
  rusage usage{};
  getrusage(RUSAGE_THREAD, &usage);
  return usage.ru_nvcsw;
}

TEST(WaitersTest, an_end_wakes_who_waits_for_that_job_and_nobody_else) {
  constexpr int callers = 32;
  constexpr int rings = 2000;
  EndWaiters waiters;
  std::atomic<int> registered{0};
  std::atomic<long> sleeps{0};
  std::atomic<int> heard{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < callers; ++i)
    threads.emplace_back([&, i] {
      EndWaiters::Place place(waiters, RunId(static_cast<std::uint64_t>(i)));
      ++registered;
      const long before = sleeps_of_this_thread();
      if (place.wait(60s)) ++heard;
      sleeps += sleeps_of_this_thread() - before;
    });
  while (registered < callers) std::this_thread::yield();
  {
    // A thousand other jobs end, one that another thread waits for among them.
    EndWaiters::Place other(waiters, RunId(callers));
    for (int i = 0; i < rings; ++i) {
      waiters.tell(ended_job(callers));
      if (i % 100 == 0) std::this_thread::sleep_for(1ms);
    }
  }
  for (int i = 0; i < callers; ++i) waiters.tell(ended_job(static_cast<std::uint64_t>(i)));
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(heard, callers);
  // Once for the end, and sometimes for the mutex.
  EXPECT_LT(sleeps, callers * 4);
}

TEST(WaitersTest, all_who_wait_for_one_job_hear_of_its_end) {
  EndWaiters waiters;
  std::atomic<int> registered{0};
  std::atomic<int> heard{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i)
    threads.emplace_back([&] {
      EndWaiters::Place place(waiters, RunId(7));
      ++registered;
      const auto end = place.wait(60s);
      if (end && end->run == RunId(7)) ++heard;
    });
  while (registered < 8) std::this_thread::yield();
  waiters.tell(ended_job(7));
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(heard, 8);
}

TEST(WaitersTest, who_must_look_for_itself_is_woken_without_an_end) {
  EndWaiters waiters;
  EndWaiters::Place place(waiters, RunId(1));
  waiters.look_again();
  EXPECT_FALSE(place.wait(60s));
  EXPECT_FALSE(place.wait(0s)) << "and waits again after that";
  waiters.tell(ended_job(1));
  EXPECT_TRUE(place.wait(60s));
}

TEST(WaitersTest, a_parking_is_no_end_but_a_reason_to_look) {
  EndWaiters waiters;
  EndWaiters::Place place(waiters, RunId(1));
  core::JobRow job = ended_job(1);
  job.status = core::JobStatus::parked;
  const auto begin = std::chrono::steady_clock::now();
  waiters.tell(job);  // late: the job goes on already
  EXPECT_FALSE(place.wait(60s));
  EXPECT_LT(std::chrono::steady_clock::now() - begin, 30s) << "it is woken";
  EXPECT_FALSE(place.wait(0s));
}

TEST(WaitersTest, a_job_has_just_begun_until_it_ends_or_its_lane_is_lost) {
  EndWaiters waiters;
  const auto has_just_begun = [&](std::uint64_t run) {
    return EndWaiters::Place(waiters, RunId(run)).has_just_begun();
  };
  EXPECT_FALSE(has_just_begun(1));
  for (const std::uint64_t run : {1, 2, 3}) waiters.begun(RunId(run));
  EXPECT_TRUE(has_just_begun(1));
  waiters.tell(ended_job(1));
  EXPECT_FALSE(has_just_begun(1)) << "who waits now must read how it ended";
  core::JobRow parked = ended_job(2);
  parked.status = core::JobStatus::parked;
  waiters.tell(parked);
  EXPECT_FALSE(has_just_begun(2));
  EXPECT_TRUE(has_just_begun(3));
  waiters.look_again();
  EXPECT_FALSE(has_just_begun(3));
}

TEST(WaitersTest, only_the_last_jobs_that_began_are_remembered) {
  EndWaiters waiters;
  for (std::uint64_t run = 0; run <= limits::jobs_just_begun_max; ++run) waiters.begun(RunId(run));
  EXPECT_FALSE(EndWaiters::Place(waiters, RunId(0)).has_just_begun());
  EXPECT_TRUE(EndWaiters::Place(waiters, RunId(1)).has_just_begun());
}

// A runtime over a store that counts reads.
class WaitTest : public testing::Test {
 protected:
  WaitTest() {
    store::Operation pool = store::OpenPool{Pool("graphs"), 1};
    EXPECT_TRUE(memory_.commit({&pool, 1}));
    OpenedStore opened;
    auto counting = std::make_unique<store::fault::Store>(memory_, store::fault::Options{});
    reads_ = counting.get();
    opened.store = std::move(counting);
    opened.lease = std::chrono::hours(24);
    opened.stats = [] { return RuntimeStats{}; };
    RuntimeOptions options;
    options.worker_threads = 1;
    runtime_ = std::make_unique<Runtime>(
        std::make_shared<LocalRuntime>(options, std::move(opened), **memory_.read_pool(Pool("graphs"))));
    auto graph = GraphBuilder("step").trigger("t").worker("act", "nobody").after("t").build();
    EXPECT_TRUE(runtime_->deploy(std::move(*graph)));
    EXPECT_TRUE(runtime_->launch());
  }

  RunId submit() {
    const auto job = runtime_->start("step", Payload("{}"), {.id = "j"});
    EXPECT_TRUE(job);
    return job->run();
  }

  SystemClock clock_;
  store::memory::Store memory_{clock_};
  store::fault::Store* reads_ = nullptr;
  std::unique_ptr<Runtime> runtime_;
};

TEST_F(WaitTest, reads_the_jobs_row_when_it_begins_and_when_its_time_is_over) {
  const RunId run = submit();
  while (!runtime_->owns()) std::this_thread::yield();
  std::this_thread::sleep_for(50ms);  // the engine reads what it needs until it is idle
  const auto before = reads_->reads();
  EXPECT_EQ(runtime_->job(run).wait(500ms).error().code, ErrorCode::retry_later);
  EXPECT_EQ(reads_->reads() - before, 2u);
}

TEST_F(WaitTest, goes_on_by_itself_when_the_runtime_stops) {
  const RunId run = submit();
  while (!runtime_->owns()) std::this_thread::yield();
  std::atomic<bool> waiting{false};
  std::thread caller([&] {
    waiting = true;
    EXPECT_EQ(runtime_->job(run).wait(30s)->status, JobStatus::interrupted);
  });
  while (!waiting) std::this_thread::yield();
  std::this_thread::sleep_for(20ms);
  runtime_->stop();
  // Another engine ends the job: this process gets no notification.
  const auto begin = std::chrono::steady_clock::now();
  OpenedStore opened;
  opened.store = std::make_unique<store::fault::Store>(memory_, store::fault::Options{});
  opened.lease = std::chrono::hours(24);
  opened.stats = [] { return RuntimeStats{}; };
  Runtime other(
      std::make_shared<LocalRuntime>(RuntimeOptions{}, std::move(opened), **memory_.read_pool(Pool("graphs"))));
  auto graph = GraphBuilder("step").trigger("t").worker("act", "nobody").after("t").build();
  EXPECT_TRUE(other.deploy(std::move(*graph)));
  EXPECT_TRUE(other.launch());
  EXPECT_TRUE(other.job(run).interrupt("enough"));
  caller.join();
  EXPECT_LT(std::chrono::steady_clock::now() - begin, 5s);
}

// Two engines share the lanes: the end of a job in the other one's lane is told to nobody here.
TEST(WaitersTest, who_waits_for_a_job_in_the_lane_of_another_process_looks_for_its_end) {
  SystemClock clock;
  store::memory::Store memory{clock};
  store::Operation pool = store::OpenPool{Pool("graphs"), 2};
  ASSERT_TRUE(memory.commit({&pool, 1}));
  const auto open = [&] {
    OpenedStore opened;
    opened.store = std::make_unique<store::fault::Store>(memory, store::fault::Options{});
    opened.lease = 10s;
    opened.stats = [] { return RuntimeStats{}; };
    RuntimeOptions options;
    options.worker_threads = 2;
    auto runtime = std::make_unique<Runtime>(
        std::make_shared<LocalRuntime>(options, std::move(opened), **memory.read_pool(Pool("graphs"))));
    auto graph = GraphBuilder("step").trigger("t").worker("act", "work").after("t").build();
    EXPECT_TRUE(runtime->deploy(std::move(*graph)));
    EXPECT_TRUE(runtime->serve("work", [](Work&) {
      std::this_thread::sleep_for(200ms);
      return Reply::success("{}");
    }));
    EXPECT_TRUE(runtime->launch());
    return runtime;
  };
  const auto one = open();
  while (!one->owns()) std::this_thread::sleep_for(1ms);
  const auto other = open();
  while (!other->owns()) std::this_thread::sleep_for(1ms);
  const auto begin = std::chrono::steady_clock::now();
  for (int i = 0; i < 8; ++i) {
    const auto job = one->start("step", Payload("{}"), {.id = std::to_string(i)});
    ASSERT_TRUE(job) << to_string(job.error());
    ASSERT_TRUE(job->wait(30s));
  }
  EXPECT_LT(std::chrono::steady_clock::now() - begin, 9s) << "eight jobs of 0.2 s";
}

}  // namespace

}  // namespace pawl::runtime
