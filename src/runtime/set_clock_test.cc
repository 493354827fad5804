// A runtime on a machine whose clock is set while it runs.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <ctime>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "pawl/runtime.h"
#include "runtime/clock_watch.h"
#include "runtime/local_runtime.h"
#include "store/memory/store.h"

namespace pawl::runtime {

namespace {

using namespace std::chrono_literals;

// The machine's clocks; the wall clock can be set.
class MachineClock final : public Clock {
 public:
  Instant now() const override { return system_.now() + Duration(by_.load()); }
  Duration monotonic() const override { return system_.monotonic(); }
  void set_by(Duration by) { by_ += by.count(); }

 private:
  SystemClock system_;
  std::atomic<std::int64_t> by_{0};
};

class SetClockTest : public testing::Test {
 protected:
  SetClockTest() {
    OpenedStore opened;
    opened.store = std::make_unique<store::memory::Store>(clock_);
    store::Operation pool = store::OpenPool{Pool("graphs"), 1};
    EXPECT_TRUE(opened.store->commit({&pool, 1}));
    const auto info = opened.store->read_pool(Pool("graphs"));
    opened.lease = std::chrono::hours(24 * 365);
    opened.stats = [] { return RuntimeStats{}; };
    backend_ = std::make_shared<LocalRuntime>(RuntimeOptions{}, std::move(opened), **info, clock_);
    runtime_ = std::make_unique<Runtime>(backend_);
    auto graph = GraphBuilder("step").trigger("t").worker("act", "work").after("t").build();
    EXPECT_TRUE(runtime_->deploy(std::move(*graph), {}));
    EXPECT_TRUE(runtime_->serve("work", [](Work&) { return Reply::success("{}"); }));
    runtime_
        ->on_problem([this](const std::string& text) {
          const std::lock_guard lock(mutex_);
          problems_.push_back(text);
        })
        .keep();
    EXPECT_TRUE(runtime_->launch());
  }
  RunId submit(Duration delay) {
    const auto job = runtime_->start("step", Payload("{}"), {.id = "j", .delay = delay});
    EXPECT_TRUE(job);
    return job->run();
  }
  // As the system does, through runtime/clock_watch.h.
  void set_by(Duration by) {
    machine_.set_by(by);
    backend_->clock_was_set();
  }

  MachineClock machine_;
  SteadyClock clock_{machine_};
  std::shared_ptr<LocalRuntime> backend_;
  std::unique_ptr<Runtime> runtime_;
  std::mutex mutex_;
  std::vector<std::string> problems_;  // guarded by mutex_
};

TEST_F(SetClockTest, a_short_wait_stays_short_when_the_clock_is_set_back_and_it_is_said) {
  const auto begin = std::chrono::steady_clock::now();
  const RunId run = submit(300ms);
  set_by(-1h);
  ASSERT_TRUE(runtime_->job(run).wait(20s)) << "it waits for the hour to come again";
  EXPECT_GE(std::chrono::steady_clock::now() - begin, 300ms);
  const std::lock_guard lock(mutex_);
  ASSERT_EQ(problems_.size(), 1u);
  EXPECT_NE(problems_.front().find("the clock was set back by 3600.0"), std::string::npos) << problems_.front();
}

TEST_F(SetClockTest, what_is_due_by_a_clock_that_leaps_ahead_begins_at_once) {
  const RunId run = submit(1h);
  EXPECT_FALSE(runtime_->job(run).wait(50ms));
  set_by(1h);
  ASSERT_TRUE(runtime_->job(run).wait(20s)) << "nobody noticed that its time has come";
  const std::lock_guard lock(mutex_);
  EXPECT_TRUE(problems_.empty());
}

// Setting the clock to the time it shows counts as setting it. Only root may, and a container often may not.
TEST(ClockWatchTest, says_that_the_clock_was_set) {
  std::atomic<int> told{0};
  const auto watch = ClockWatch::start([&] { ++told; });
  ASSERT_NE(watch, nullptr);
  for (int round = 1; round <= 2; ++round) {
    timespec now{};
    clock_gettime(CLOCK_REALTIME, &now);
    if (clock_settime(CLOCK_REALTIME, &now) != 0) GTEST_SKIP() << "this user may not set the clock";
    for (int i = 0; i < 5000 && told < round; ++i) std::this_thread::sleep_for(1ms);
    EXPECT_EQ(told, round);
  }
}

}  // namespace

}  // namespace pawl::runtime
