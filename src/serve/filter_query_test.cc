#include "serve/filter_query.h"

#include <gtest/gtest.h>

#include <chrono>

namespace pawl::serve {
namespace {

const Instant now = Instant::from_micros(1'700'000'000'000'000);

TEST(FilterQuery, what_is_written_is_read_again) {
  JobFilter filter;
  filter.status = {JobStatus::failed, JobStatus::parked};
  filter.name_space = "n";
  filter.order = JobOrder::newest_first;
  filter.graph = "shop/order";
  filter.where = {{"charge", "errored"}, {"ship", "4"}};
  filter.collation_key = "3?4*";
  filter.activity = "charge";
  filter.error = "a, b & c";
  filter.code = 503;
  filter.since = Instant::from_micros(1'600'000'000'123'456);
  filter.until = Instant::from_micros(1'600'000'001'000'000);
  filter.ended_since = Instant::from_micros(1'600'000'002'000'007);
  filter.ended_until = Instant::from_micros(1'600'000'003'999'999);
  filter.label = JobFilter::Label{"side", "north=x", ""};
  filter.without_data = true;
  const auto again = read_filter(filter_query(filter), now);
  ASSERT_TRUE(again) << again.error().detail;
  EXPECT_EQ(again->status, filter.status);
  EXPECT_EQ(again->name_space, filter.name_space);
  EXPECT_EQ(again->order, filter.order);
  EXPECT_EQ(again->graph, filter.graph);
  EXPECT_EQ(again->where, filter.where);
  EXPECT_EQ(again->collation_key, filter.collation_key);
  EXPECT_EQ(again->activity, filter.activity);
  EXPECT_EQ(again->error, filter.error);
  EXPECT_EQ(again->code, filter.code);
  EXPECT_EQ(again->since, filter.since);
  EXPECT_EQ(again->until, filter.until);
  EXPECT_EQ(again->ended_since, filter.ended_since);
  EXPECT_EQ(again->ended_until, filter.ended_until);
  ASSERT_TRUE(again->label);
  EXPECT_EQ(again->label->name, "side");
  EXPECT_EQ(again->label->value, "north=x");
  EXPECT_EQ(again->label->key, "");
  EXPECT_TRUE(again->without_data);
  EXPECT_TRUE(filter_query(JobFilter{.order = JobOrder::newest_first}).size() == 1);
}

TEST(FilterQuery, an_age_narrows_what_a_time_says) {
  const auto filter = read_filter(Pairs{{"older_than", "1h"}, {"until", "2h"}, {"younger_than", "3h"}}, now);
  ASSERT_TRUE(filter);
  EXPECT_EQ(filter->until, now - std::chrono::hours(2));
  EXPECT_EQ(filter->since, now - std::chrono::hours(3));
}

TEST(FilterQuery, bad_conditions_are_named) {
  for (const auto& [name, value] : Pairs{{"status", "open"},
                                         {"where", "charge"},
                                         {"code", "5x"},
                                         {"since", "soon"},
                                         {"older_than", "nans"},
                                         {"order", "up"},
                                         {"brief", "1"}}) {
    const auto filter = read_filter(Pairs{{name, value}}, now);
    ASSERT_FALSE(filter) << name;
    EXPECT_TRUE(filter.error().detail.starts_with(name)) << filter.error().detail;
  }
  EXPECT_FALSE(read_filter(boost::json::object{{"statsu", "failed"}}, now));
  EXPECT_TRUE(read_filter(boost::json::object{{"status", {"failed", "parked"}}, {"code", 503}}, now));
}

}  // namespace
}  // namespace pawl::serve
