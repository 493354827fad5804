#include "runtime/engine_turn.h"

#include <gtest/gtest.h>

#include <chrono>
#include <future>
#include <thread>
#include <vector>

#include "runtime/command_queue.h"

namespace pawl::runtime {
namespace {

using namespace std::chrono_literals;

class EngineTurnTest : public testing::Test {
 protected:
  int woken_ = 0;
  int worked_ = 0;
  EngineTurn turn_{[this] { ++woken_; }};

  void lend() {
    const std::lock_guard has_turn(turn_);
    turn_.lend([this] { ++worked_; });
  }
};

TEST_F(EngineTurnTest, who_owes_and_is_idle_works_once) {
  lend();
  turn_.settle(true);
  EXPECT_EQ(worked_, 0);
  turn_.owe();
  EXPECT_TRUE(turn_.is_owed());
  turn_.settle(true);
  turn_.settle(true);
  EXPECT_EQ(worked_, 1);
  EXPECT_EQ(woken_, 0);
}

TEST_F(EngineTurnTest, who_has_other_work_wakes_the_owner) {
  lend();
  turn_.owe();
  turn_.settle(false);
  EXPECT_EQ(worked_, 0);
  EXPECT_EQ(woken_, 1);
}

TEST_F(EngineTurnTest, what_is_not_lent_wakes_the_owner) {
  turn_.owe();
  turn_.settle(true);
  EXPECT_EQ(woken_, 1);
}

TEST_F(EngineTurnTest, while_another_thread_has_the_turn_the_owner_is_woken) {
  lend();
  const std::lock_guard has_turn(turn_);
  std::thread([&] {
    turn_.owe();
    turn_.settle(true);
  }).join();
  EXPECT_EQ(worked_, 0);
  EXPECT_EQ(woken_, 1);
}

class LendTest : public testing::Test {
 protected:
  CommandQueue<int> queue_;

  // Waits until the owner sleeps: only then a quiet push leaves it asleep.
  void push_quietly_while_lent(int value) {
    while (!queue_.push_quietly(value)) {
      std::this_thread::sleep_for(1ms);
      std::vector<int> taken;
      queue_.take_all(taken, Duration{0});
    }
  }
  std::future<void> lend() {
    return std::async(std::launch::async, [this] {
      std::vector<int> taken;
      do {
        queue_.take_all(taken, Duration{0});
        taken.clear();
        queue_.lend(std::nullopt);
      } while (!awake_);
    });
  }
  std::atomic<bool> awake_{false};
};

TEST_F(LendTest, a_quiet_push_leaves_the_owner_asleep_and_wake_wakes_it) {
  auto owner = lend();
  push_quietly_while_lent(1);
  EXPECT_EQ(owner.wait_for(50ms), std::future_status::timeout);
  std::vector<int> taken;
  queue_.take_all(taken, Duration{0});
  EXPECT_EQ(taken, std::vector{1});
  awake_ = true;
  queue_.wake();
  EXPECT_EQ(owner.wait_for(10s), std::future_status::ready);
  EXPECT_FALSE(queue_.push_quietly(2));  // nobody lends any more
}

TEST_F(LendTest, a_push_wakes_the_owner_that_lends) {
  auto owner = lend();
  push_quietly_while_lent(1);
  awake_ = true;
  queue_.push(2);
  EXPECT_EQ(owner.wait_for(10s), std::future_status::ready);
}

TEST_F(LendTest, an_owner_with_values_does_not_sleep) {
  queue_.push(1);
  queue_.lend(std::nullopt);
  std::vector<int> taken;
  queue_.take_all(taken, Duration{0});
  EXPECT_EQ(taken, std::vector{1});
}

// The owner has decided to sleep: it gave the turn away and is not in lend() yet. A borrower that leaves work then
// would wake nobody.
TEST_F(LendTest, a_wake_that_comes_just_before_the_sleep_is_not_lost) {
  queue_.wake();
  const auto begin = std::chrono::steady_clock::now();
  queue_.lend(Duration{10'000'000});
  EXPECT_LT(std::chrono::steady_clock::now() - begin, 5s);
}

// A worker that pushed quietly is slow to settle: meanwhile the owner took the reply and sleeps until the end of a
// commit. The wake-up is for nothing, and the push behind it must still be noticed.
TEST_F(LendTest, a_wake_that_comes_too_late_does_not_cost_the_next_push) {
  std::vector<int> taken;
  auto owner = std::async(std::launch::async, [&] { queue_.take_all(taken, Duration{2'000'000}); });
  std::this_thread::sleep_for(50ms);  // it sleeps
  queue_.wake();
  std::this_thread::sleep_for(50ms);  // and has looked
  const auto begin = std::chrono::steady_clock::now();
  queue_.push(1);
  owner.get();
  EXPECT_LT(std::chrono::steady_clock::now() - begin, 1s);
  EXPECT_EQ(taken, std::vector{1});
}

TEST_F(LendTest, one_wake_ends_one_sleep) {
  queue_.wake();
  queue_.lend(Duration{10'000'000});
  const auto begin = std::chrono::steady_clock::now();
  queue_.lend(Duration{20'000});
  EXPECT_GE(std::chrono::steady_clock::now() - begin, 20ms);
}

TEST_F(LendTest, the_owner_sleeps_no_longer_than_it_said) {
  const auto begin = std::chrono::steady_clock::now();
  queue_.lend(Duration{20'000});
  EXPECT_GE(std::chrono::steady_clock::now() - begin, 20ms);
}

}  // namespace
}  // namespace pawl::runtime
