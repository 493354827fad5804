#include "serve/rate_meter.h"

#include <gtest/gtest.h>

namespace pawl::serve {
namespace {

using namespace std::chrono_literals;

TEST(RateMeter, counts_the_last_minute_and_forgets_what_is_older) {
  RateMeter meter;
  const RateMeter::Clock::time_point begin(1000s);
  EXPECT_EQ(meter.per_second(begin), 0);
  for (int second = 0; second < 60; ++second) meter.add(3, begin + std::chrono::seconds(second));
  EXPECT_DOUBLE_EQ(meter.per_second(begin + 59s), 3);
  EXPECT_DOUBLE_EQ(meter.per_second(begin + 89s), 1.5);
  EXPECT_EQ(meter.per_second(begin + 200s), 0);
  meter.add(60, begin + 200s);
  EXPECT_DOUBLE_EQ(meter.per_second(begin + 200s), 1);
}

}  // namespace
}  // namespace pawl::serve
