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
  EngineTurn::Call calls_;
  EngineTurn turn_{[this] { ++woken_; }};

  void lend() {
    const std::lock_guard has_turn(turn_);
    turn_.lend([this](EngineTurn::Borrower) {
      ++worked_;
      return calls_;
    });
  }
  static EngineTurn::Borrower busy() { return EngineTurn::Borrower::none; }
  static EngineTurn::Borrower idle() { return EngineTurn::Borrower::worker; }
};

TEST_F(EngineTurnTest, who_owes_and_is_idle_works_once) {
  lend();
  turn_.settle(idle);
  EXPECT_EQ(worked_, 0);
  turn_.owe();
  EXPECT_TRUE(turn_.is_owed());
  turn_.settle(idle);
  turn_.settle(idle);
  EXPECT_EQ(worked_, 1);
  EXPECT_EQ(woken_, 0);
}

TEST_F(EngineTurnTest, who_has_other_work_wakes_the_owner) {
  lend();
  turn_.owe();
  turn_.settle(busy);
  EXPECT_EQ(worked_, 0);
  EXPECT_EQ(woken_, 1);
}

TEST_F(EngineTurnTest, what_is_not_lent_wakes_the_owner) {
  turn_.owe();
  turn_.settle(idle);
  EXPECT_EQ(woken_, 1);
}

TEST_F(EngineTurnTest, while_another_thread_has_the_turn_the_owner_is_woken) {
  lend();
  const std::lock_guard has_turn(turn_);
  std::thread([&] {
    turn_.owe();
    turn_.settle(idle);
  }).join();
  EXPECT_EQ(worked_, 0);
  EXPECT_EQ(woken_, 1);
}

// A call to a remote store is made without the turn, and its end is one more reason to take it.
TEST_F(EngineTurnTest, a_borrower_makes_the_call_of_its_turn_after_it_and_takes_another_turn) {
  bool was_free = false;
  calls_ = [&] {
    std::thread([&] {
      was_free = turn_.try_lock();
      if (was_free) turn_.unlock();
    }).join();
    calls_ = {};
    turn_.owe();
  };
  lend();
  turn_.owe();
  turn_.settle(idle);
  EXPECT_TRUE(was_free);
  EXPECT_EQ(worked_, 2);
  EXPECT_EQ(woken_, 0);
}

// Meanwhile something else came for the caller's thread.
TEST_F(EngineTurnTest, who_has_other_work_after_its_call_wakes_the_owner) {
  calls_ = [&] { turn_.owe(); };
  lend();
  turn_.owe();
  turn_.settle([&] { return worked_ == 0 ? idle() : busy(); });
  EXPECT_EQ(worked_, 1);
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

TEST_F(LendTest, a_stand_in_is_called_once_for_what_waits_and_the_owner_sleeps_on) {
  std::atomic<int> called{0};
  queue_.set_stand_in([&] { return ++called > 0; });
  auto owner = lend();
  push_quietly_while_lent(1);
  queue_.push(2);
  EXPECT_EQ(queue_.try_push(3, 10), CommandQueue<int>::Taken::yes);
  EXPECT_EQ(called, 1);
  std::vector<int> taken;
  queue_.take_all(taken, Duration{0});
  EXPECT_EQ(taken, (std::vector{1, 2, 3}));
  queue_.push(4);
  EXPECT_EQ(called, 2) << "the stand-in before took what was there then";
  EXPECT_EQ(owner.wait_for(50ms), std::future_status::timeout);
  awake_ = true;
  queue_.wake();
  EXPECT_EQ(owner.wait_for(10s), std::future_status::ready);
}

TEST_F(LendTest, without_anybody_to_stand_in_a_push_wakes_the_owner) {
  queue_.set_stand_in([] { return false; });
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
