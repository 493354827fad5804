#include "ledger/collation_pattern.h"

#include "ledger/testing.h"

namespace pawl::ledger {
namespace {

using State = CollationKey::State;

CollationKey key(std::string_view text) { return CollationKey::parse(text).value(); }
CollationPattern pattern(std::string_view text) { return CollationPattern::parse(text).value(); }

TEST(collation_pattern, finds_all_jobs_where_ate_is_errored) {
  const auto order = ActivityOrder::of({"quick", "brown", "fox", "jumped", "slept", "ate"}).value();
  const auto ate_errored = CollationPattern::where(order, "ate", State::errored).value();
  EXPECT_EQ(ate_errored.text(), "7*");
  EXPECT_TRUE(ate_errored.matches(key("766366000000000")));
  for (const char* other : {"999969000000000", "968969000000000", "366863000000000", "366663000000000",
                            "566366000000000", "466366000000000"})
    EXPECT_FALSE(ate_errored.matches(key(other))) << other;
  EXPECT_EQ(CollationPattern::where(order, "fox", State::started).value().text(), "??8*");
  EXPECT_TRUE(CollationPattern::where(order, "fox", State::started)->matches(key("968969000000000")));
  EXPECT_EQ(outcome(CollationPattern::where(order, "hen", State::started)), "not_found");
}

TEST(collation_pattern, question_mark_is_one_activity_and_star_is_the_rest) {
  EXPECT_TRUE(pattern("?6?3*").matches(key("766366000000000")));
  EXPECT_TRUE(pattern("?6?3??").matches(key("766366000000000")));
  EXPECT_FALSE(pattern("?6?3?").matches(key("766366000000000")));
  EXPECT_FALSE(pattern("?6?3???").matches(key("766366000000000")));
  EXPECT_TRUE(pattern("766366*").matches(key("766366000000000")));
  EXPECT_FALSE(pattern("766366?*").matches(key("766366000000000")));  // padding is not an activity
  EXPECT_TRUE(pattern("*").matches(key("766366000000000")));
}

TEST(collation_pattern, a_key_is_its_own_pattern) {
  for (const char* text : {"766366000000000", "6666666666666689", "666666666666668"})
    EXPECT_TRUE(pattern(text).matches(key(text))) << text;
  EXPECT_FALSE(pattern("766366000000000").matches(key("766367000000000")));
}

TEST(collation_pattern, passes_over_the_digits_of_awaited_jobs) {
  EXPECT_TRUE(pattern("????69").matches(key("99996146636629")));
  EXPECT_FALSE(pattern("?????4*").matches(key("99996146636629")));
}

TEST(collation_pattern, parse_refuses_what_no_key_can_hold) {
  for (const char* text : {"", "0", "1", "62", "7*7", "**", "7 ", "a", "000000000000000", "7.*", "70"})
    EXPECT_EQ(outcome(CollationPattern::parse(text)), "invalid") << text;
  EXPECT_EQ(outcome(CollationPattern::parse(std::string(CollationKey::activities_max + 2, '?'))), "over_limit");
}

}  // namespace
}  // namespace pawl::ledger
