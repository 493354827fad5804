// Wall time for one process.
#include "base/clock.h"

#include <gtest/gtest.h>

#include <chrono>

namespace pawl {

namespace {

using namespace std::chrono_literals;

class SetClock final : public Clock {
 public:
  Instant now() const override { return Instant::from_micros(1'000'000'000) + elapsed + set; }
  Duration monotonic() const override { return elapsed; }
  Duration elapsed{0};
  Duration set{0};
};

TEST(SteadyClockTest, goes_on_by_elapsed_time_when_its_source_is_set_back) {
  SetClock source;
  const SteadyClock clock(source);
  const Instant begin = clock.now();
  source.set -= 1h;
  EXPECT_EQ(clock.now(), begin);
  EXPECT_EQ(clock.ahead(), 1h);
  source.elapsed += 5s;
  EXPECT_EQ(clock.now(), begin + 5s);
  source.set -= 10min;
  source.elapsed += 5s;
  EXPECT_EQ(clock.now(), begin + 10s);
  EXPECT_EQ(clock.ahead(), 70min);
}

TEST(SteadyClockTest, leaps_ahead_with_its_source_once_it_has_caught_up) {
  SetClock source;
  const SteadyClock clock(source);
  const Instant begin = clock.now();
  source.set = 1h;
  EXPECT_EQ(clock.now(), begin + 1h);
  source.set = 0h;
  EXPECT_EQ(clock.now(), begin + 1h);
  source.set = 30min;
  EXPECT_EQ(clock.now(), begin + 1h);
  EXPECT_EQ(clock.ahead(), 30min);
  source.set = 2h;
  EXPECT_EQ(clock.now(), begin + 2h);
  EXPECT_EQ(clock.ahead(), 0s);
}

TEST(SteadyClockTest, the_process_clock_is_the_machines_time) {
  const Instant before = SystemClock().now();
  const Instant now = process_clock().now();
  EXPECT_GE(now - before, -1ms);
  EXPECT_LT(now - before, 10s);
}

}  // namespace

}  // namespace pawl
