// When cron expressions fire, and which texts are not cron expressions.
#include "mapping/cron.h"

#include <gtest/gtest.h>

#include <string>

namespace pawl::mapping {
namespace {

std::string next(std::string_view expression, std::string_view after) {
  const auto schedule = CronSchedule::parse(expression);
  if (!schedule) return to_string(schedule.error());
  const auto tick = schedule->next_after(parse_date(after).value());
  return tick ? iso_text(*tick).substr(0, 19) : "never";
}

TEST(Cron, fires_at_the_next_tick_after_the_given_time) {
  EXPECT_EQ(next("* * * * *", "2024-02-29T13:05:09.007Z"), "2024-02-29T13:06:00");
  EXPECT_EQ(next("* * * * *", "2024-02-29T13:05:00Z"), "2024-02-29T13:06:00");  // never now itself
  EXPECT_EQ(next("* * * * * *", "2024-02-29T13:05:09.007Z"), "2024-02-29T13:05:10");
  EXPECT_EQ(next("*/15 * * * *", "2024-02-29T13:59:59Z"), "2024-02-29T14:00:00");
  EXPECT_EQ(next("30 8 * * *", "2024-02-29T08:30:00Z"), "2024-03-01T08:30:00");
  EXPECT_EQ(next("59 59 23 31 12 *", "2023-12-31T23:59:58Z"), "2023-12-31T23:59:59");
  EXPECT_EQ(next("59 59 23 31 12 *", "2023-12-31T23:59:59Z"), "2024-12-31T23:59:59");
  EXPECT_EQ(next("20 10 5 * * *", "2024-01-01T05:10:21Z"), "2024-01-02T05:10:20");
  EXPECT_EQ(next("0,30 5-7 * * *", "2024-01-01T05:30:00Z"), "2024-01-01T06:00:00");
}

TEST(Cron, days_and_weekdays) {
  EXPECT_EQ(next("0 9 * * MON-FRI", "2024-03-01T09:00:00Z"),
            "2024-03-04T09:00:00");  // after a Friday
  EXPECT_EQ(next("0 9 * * 7", "2024-03-01T09:00:00Z"), "2024-03-03T09:00:00");
  EXPECT_EQ(next("0 9 * * sun", "2024-03-01T09:00:00Z"), "2024-03-03T09:00:00");
  EXPECT_EQ(next("0 0 13 * 5", "2024-03-02T00:00:00Z"), "2024-03-08T00:00:00");  // either day fires
  EXPECT_EQ(next("0 0 13 * ?", "2024-03-02T00:00:00Z"), "2024-03-13T00:00:00");
  EXPECT_EQ(next("0 0 31 * *", "2024-02-01T00:00:00Z"), "2024-03-31T00:00:00");
  EXPECT_EQ(next("0 0 29 2 *", "2024-03-01T00:00:00Z"), "2028-02-29T00:00:00");
  EXPECT_EQ(next("0 0 29 2 *", "2097-01-01T00:00:00Z"), "2104-02-29T00:00:00");
  EXPECT_EQ(next("0 0 30 2 *", "2024-03-01T00:00:00Z"), "never");
  EXPECT_EQ(next("0 0 1 JAN,jul *", "2024-01-01T00:00:00Z"), "2024-07-01T00:00:00");
}

TEST(Cron, short_names) {
  EXPECT_EQ(next("@hourly", "2024-02-29T13:05:09Z"), "2024-02-29T14:00:00");
  EXPECT_EQ(next("@daily", "2024-02-29T13:05:09Z"), "2024-03-01T00:00:00");
  EXPECT_EQ(next("@weekly", "2024-02-29T13:05:09Z"), "2024-03-03T00:00:00");
  EXPECT_EQ(next("@monthly", "2024-02-29T13:05:09Z"), "2024-03-01T00:00:00");
  EXPECT_EQ(next("@yearly", "2024-02-29T13:05:09Z"), "2025-01-01T00:00:00");
}

TEST(Cron, refuses_what_is_no_schedule) {
  for (const char* wrong : {"", "*", "* * * *", "* * * * * * *", "60 * * * *", "* 24 * * *", "* * 0 * *", "* * * 13 *",
                            "* * * * 8", "a * * * *", "*/0 * * * *", "5-1 * * * *", "1,,2 * * * *", "1-2-3 * * * *",
                            "-1 * * * *", "1/ * * * *", "/5 * * * *", "@never"})
    EXPECT_FALSE(CronSchedule::parse(wrong)) << wrong;
  EXPECT_EQ(CronSchedule::parse(std::string(300, '*')).error().code, ErrorCode::over_limit);
  EXPECT_EQ(next("61 * * * *", "2024-01-01"), "invalid: not a cron expression: \"61\" is no minute (0 to 59)");
}

}  // namespace
}  // namespace pawl::mapping
