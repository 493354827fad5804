// Times and ages as people write them, and filters made of them.
#include "cli/job_filter.h"

#include <gtest/gtest.h>

namespace pawl::cli {
namespace {

constexpr Instant now = Instant::from_micros(1'794'924'000'000'000);  // 2026-11-17T14:00:00Z

std::int64_t seconds(const Result<Instant>& at) { return at ? at->micros() / 1'000'000 : -1; }

TEST(ParseTime, takes_a_date_a_time_and_how_long_ago) {
  EXPECT_EQ(seconds(parse_time("--since", "2026-11-17", now)), 1'794'873'600);
  EXPECT_EQ(seconds(parse_time("--since", "2026-11-17T03:00", now)), 1'794'884'400);
  EXPECT_EQ(seconds(parse_time("--since", "2026-11-17T03:00:05Z", now)), 1'794'884'405);
  EXPECT_EQ(seconds(parse_time("--since", "2026-11-17T03:00:05.250Z", now)), 1'794'884'405) << "as pawl prints it";
  EXPECT_EQ(seconds(parse_time("--since", "03:00", now)), 1'794'884'400) << "today";
  EXPECT_EQ(seconds(parse_time("--since", "2h", now)), 1'794'916'800);
  EXPECT_EQ(seconds(parse_time("--since", "1.5d", now)), 1'794'794'400);
  for (const char* wrong : {"yesterday", "2026-13-01", "25:00", "2026-11-17X03:00", "2h ago", "-2h", ""})
    EXPECT_FALSE(parse_time("--since", wrong, now)) << wrong;
}

TEST(ParseAge, needs_a_number_and_a_unit) {
  EXPECT_EQ(parse_age("--older-than", "90s")->count(), 90'000'000);
  EXPECT_EQ(parse_age("--older-than", "250ms")->count(), 250'000);
  for (const char* wrong : {"90", "s", "90 s", "90x", "1e300d"})
    EXPECT_FALSE(parse_age("--older-than", wrong)) << wrong;
}

TEST(FilterOf, joins_all_that_was_said) {
  FilterOptions options;
  EXPECT_TRUE(options.is_empty());
  options.statuses = {"failed", "parked"};
  options.where = {"charge=errored"};
  options.older_than = "1h";
  options.until = "2026-11-17T13:30";
  options.younger_than = "2h";
  EXPECT_FALSE(options.is_empty());
  const auto filter = filter_of(options, now);
  ASSERT_TRUE(filter);
  EXPECT_EQ(filter->status, (JobStatuses{JobStatus::failed, JobStatus::parked}));
  EXPECT_EQ(filter->where.front(), std::pair(std::string("charge"), std::string("errored")));
  EXPECT_EQ(filter->until, now - std::chrono::hours(1)) << "the earlier bound counts";
  EXPECT_EQ(filter->since, now - std::chrono::hours(2));
  EXPECT_EQ(filter->order, JobOrder::oldest_first);
  options.where = {"charge"};
  ASSERT_FALSE(filter_of(options, now));
  EXPECT_EQ(filter_of(options, now).error().detail.find("--where"), 0u);
  options.where.clear();
  options.ended_since = "yesterday";
  ASSERT_FALSE(filter_of(options, now));
  EXPECT_EQ(filter_of(options, now).error().detail.find("--ended-since"), 0u) << "as the option is written";
}

}  // namespace
}  // namespace pawl::cli
