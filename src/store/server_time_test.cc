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
  EXPECT_EQ(time.at(12s), at(1002s));
}

TEST(ServerTimeTest, a_nearer_answer_counts_at_once) {
  ServerTime time;
  time.observe(at(1000s), 10s + 40ms);
  time.observe(at(1001s), 11s);
  EXPECT_EQ(time.at(12s), at(1002s));
}

TEST(ServerTimeTest, a_server_whose_clock_is_slower_is_followed) {
  ServerTime time;
  // Its clock loses a hundredth: an hour here is 59.4 minutes there.
  Duration elapsed = 0s;
  for (; elapsed < 3600s; elapsed += 1s) time.observe(at(1000s + elapsed - elapsed / 100), elapsed);
  const Duration ahead = time.at(elapsed) - at(1000s + elapsed - elapsed / 100);
  EXPECT_LE(ahead, 2 * ServerTime::window / 100 + 50ms);
}

TEST(ServerTimeTest, after_a_long_silence_only_the_new_answer_counts) {
  ServerTime time;
  time.observe(at(1000s), 10s);
  time.observe(at(1989s), 1000s);  // one second behind the old difference
  EXPECT_EQ(time.at(1001s), at(1990s));
}

TEST(ServerTimeTest, never_goes_back) {
  ServerTime time;
  time.observe(at(1000s), 10s);
  EXPECT_EQ(time.at(1000s), at(1990s));
  time.observe(at(500s), 1001s);
  EXPECT_EQ(time.at(1001s), at(1990s));
}

}  // namespace

}  // namespace pawl::store
