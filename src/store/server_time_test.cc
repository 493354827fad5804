#include "store/server_time.h"

#include <gtest/gtest.h>

#include <chrono>

namespace pawl::store {

namespace {

using namespace std::chrono_literals;

Instant at(Duration since_epoch) { return Instant::from_micros(since_epoch.count()); }

TEST(ServerTimeTest, goes_on_with_elapsed_time) {
  ServerTime time;
  time.observe(at(1000s), 10s);
  EXPECT_EQ(time.at(10s), at(1000s));
  EXPECT_EQ(time.at(15s), at(1005s));
}

TEST(ServerTimeTest, an_answer_that_was_long_on_its_way_does_not_count) {
  ServerTime time;
  time.observe(at(1000s), 10s);
  time.observe(at(1001s), 11s + 40ms);  // 40 ms old
  EXPECT_LE(at(1002s) - time.at(12s), 1ms);
}

TEST(ServerTimeTest, a_nearer_answer_counts_at_once) {
  ServerTime time;
  time.observe(at(1000s), 10s + 40ms);
  time.observe(at(1001s), 11s);
  EXPECT_EQ(time.at(12s), at(1002s));
}

TEST(ServerTimeTest, a_good_answer_counts_through_a_minute_of_slow_ones) {
  ServerTime time;
  time.observe(at(1000s), 10s);
  for (Duration elapsed = 11s; elapsed < 70s; elapsed += 1s) time.observe(at(990s + elapsed), elapsed + 40ms);
  const Duration behind = at(1060s) - time.at(70s);
  EXPECT_GE(behind, 0s);
  EXPECT_LE(behind, 10ms);
}

TEST(ServerTimeTest, a_server_whose_clock_is_slower_is_followed) {
  ServerTime time;
  // Its clock loses 50 microseconds a second: 4 seconds a day.
  Duration elapsed = 0s;
  const auto there = [&] { return at(1000s + elapsed - elapsed / 20'000); };
  for (; elapsed < 24h; elapsed += 1s) time.observe(there(), elapsed);
  EXPECT_LE(time.at(elapsed) - there(), 1ms);
}

TEST(ServerTimeTest, a_clock_that_was_set_back_is_followed_when_it_has_caught_up) {
  ServerTime time;
  time.observe(at(1000s), 0s);
  Duration elapsed = 1s;
  for (; elapsed < 200s; elapsed += 1s) time.observe(at(980s + elapsed), elapsed);  // by 20 s
  EXPECT_EQ(time.at(elapsed), at(980s + elapsed));
}

TEST(ServerTimeTest, never_goes_back) {
  ServerTime time;
  time.observe(at(1000s), 0s);
  EXPECT_EQ(time.at(1s), at(1001s));
  Instant before = time.at(1s);
  for (Duration elapsed = 1s; elapsed < 100s; elapsed += 1s) {  // set back by an hour
    time.observe(at(elapsed), elapsed);
    EXPECT_GE(time.at(elapsed), before);
    before = time.at(elapsed);
  }
}

}  // namespace

}  // namespace pawl::store
