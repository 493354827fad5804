#include "runtime/end_watch.h"

#include <gtest/gtest.h>

#include <chrono>
#include <future>
#include <memory>
#include <thread>
#include <vector>

namespace pawl::runtime {
namespace {

class EndWatches : public testing::Test {
 protected:
  Result<std::optional<JobView>> look(RunId run) {
    const std::lock_guard lock(mutex_);
    if (!ended_.contains(run)) return std::optional<JobView>();
    JobView view;
    view.run = run;
    return std::optional(view);
  }
  void end(RunId run) {
    {
      const std::lock_guard lock(mutex_);
      ended_.insert(run);
    }
    watch_.tell(run);
  }
  // What the callback was called with.
  std::future<Result<JobView>> watch(RunId run) {
    auto promise = std::make_shared<std::promise<Result<JobView>>>();
    watch_.watch(run, [promise](Result<JobView> end) { promise->set_value(std::move(end)); });
    return promise->get_future();
  }
  static bool waits(std::future<Result<JobView>>& future) {
    return future.wait_for(std::chrono::seconds(0)) == std::future_status::timeout;
  }

  static constexpr std::size_t callbacks_max = 3;
  static constexpr RunId untold{99};  // its lane is another process's
  std::mutex mutex_;
  std::set<RunId> ended_;
  EndWatch watch_{[this](RunId run) { return look(run); }, [](RunId run) { return run != untold; },
                  [](const std::string&) {}, callbacks_max};
};

TEST_F(EndWatches, count_callbacks_and_not_jobs) {
  std::vector<std::future<Result<JobView>>> one;
  for (std::size_t i = 0; i < callbacks_max; ++i) one.push_back(watch(RunId(1)));
  for (auto& future : one) EXPECT_TRUE(waits(future));
  const auto refused = watch(RunId(1)).get();
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::over_limit);
  EXPECT_EQ(refused.error().detail, "3 callbacks wait for the ends of jobs already (ends_watched_max)");
}

TEST_F(EndWatches, have_room_again_once_callbacks_were_called) {
  std::vector<std::future<Result<JobView>>> one;
  for (std::size_t i = 0; i < callbacks_max; ++i) one.push_back(watch(RunId(1)));
  end(RunId(1));
  for (auto& future : one) EXPECT_EQ(future.get()->run, RunId(1));
  for (std::size_t i = 0; i < callbacks_max; ++i) {
    auto next = watch(RunId(2));
    EXPECT_TRUE(waits(next));
  }
}

TEST_F(EndWatches, have_room_again_once_nobody_waits) {
  for (std::size_t i = 0; i < 10 * callbacks_max; ++i) {
    bool called = false;
    const auto number = watch_.watch(RunId(1), [&](const Result<JobView>&) { called = true; });
    ASSERT_NE(number, 0u) << i;
    watch_.unwatch(RunId(1), number);
    EXPECT_FALSE(called);
  }
  auto other = watch(RunId(2));
  end(RunId(2));
  EXPECT_EQ(other.get()->run, RunId(2));
}

TEST_F(EndWatches, look_soon_at_the_jobs_that_nobody_tells_of_and_only_at_these) {
  auto told = watch(RunId(1));
  auto other = watch(untold);
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  {
    const std::lock_guard lock(mutex_);
    ended_ = {RunId(1), untold};
  }
  EXPECT_EQ(other.wait_for(std::chrono::seconds(8)), std::future_status::ready);
  EXPECT_TRUE(waits(told));
}

TEST_F(EndWatches, look_at_the_jobs_that_nobody_tells_of_although_others_are_told_of_all_the_time) {
  auto told = watch(RunId(1));
  auto other = watch(untold);
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  {
    const std::lock_guard lock(mutex_);
    ended_ = {untold};
  }
  for (int i = 0; i < 1'000 && waits(other); ++i) {
    watch_.tell(RunId(1));
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  EXPECT_FALSE(waits(other));
  EXPECT_TRUE(waits(told));
}

TEST_F(EndWatches, tell_what_is_left_that_they_are_closed) {
  auto left = watch(RunId(1));
  watch_.close(Error{ErrorCode::retry_later, "stopped"});
  EXPECT_EQ(left.get().error().detail, "stopped");
  EXPECT_EQ(watch(RunId(2)).get().error().detail, "stopped");
}

}  // namespace
}  // namespace pawl::runtime
