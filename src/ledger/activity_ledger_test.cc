#include "ledger/activity_ledger.h"

#include "ledger/testing.h"

#include <limits>

namespace pawl::ledger {
namespace {

using Mark = ActivityLedger::Mark;

constexpr Mark all_marks[] = {Mark::leg1_complete, Mark::work_done, Mark::children_spawned, Mark::completion_done};
constexpr std::uint64_t mark_weights[] = {100'000'000'000, 10'000'000'000, 1'000'000'000, 100'000'000};
constexpr std::uint32_t attempts_at_the_edges[] = {0, 1, 9, 10, 11, 99, 100, 998, 999};
constexpr std::uint32_t entries_at_the_edges[] = {
    0, 1, 9, 10, 99, 100, 999, 1'000, 9'999, 10'000, 99'999, 999'999, 9'999'999, 99'999'998, 99'999'999};

// Calls check(value, attempts, marks as bits, entries) for every shape with boundary digits. The value is computed here
// from written-out weights, not by the class under test.
template <class Check>
void for_every_shape(Check check) {
  for (const std::uint32_t attempts : attempts_at_the_edges)
    for (const std::uint32_t entries : entries_at_the_edges)
      for (unsigned bits = 0; bits < 16; ++bits) {
        std::uint64_t value = attempts * 1'000'000'000'000ULL + entries;
        for (unsigned mark = 0; mark < 4; ++mark)
          if ((bits >> mark) & 1U) value += mark_weights[mark];
        check(value, attempts, bits, entries);
      }
}

// Claim: every field reads correctly whatever the other fields hold. Checked by composing all boundary shapes.
TEST(activity_ledger, every_shape_survives_the_round_trip_and_reads_field_by_field) {
  int shapes = 0;
  for_every_shape([&](std::uint64_t value, std::uint32_t attempts, unsigned bits, std::uint32_t entries) {
    ++shapes;
    const auto ledger = ActivityLedger::decode(value);
    ASSERT_TRUE(ledger) << value;
    EXPECT_EQ(ledger->encode(), value);
    EXPECT_EQ(ledger->digits().size(), 15U);
    EXPECT_EQ(number_of(ledger->digits()), value);
    EXPECT_EQ(ledger->leg1_attempts(), attempts);
    EXPECT_EQ(ledger->entries(), entries);
    for (unsigned mark = 0; mark < 4; ++mark)
      EXPECT_EQ(ledger->has(all_marks[mark]), ((bits >> mark) & 1U) == 1U) << ledger->digits();
  });
  EXPECT_EQ(shapes, 9 * 15 * 16);
}

// Claim: each operation adds exactly its own weight or refuses; nothing is ever carried.
TEST(activity_ledger, every_operation_adds_its_own_weight_or_refuses) {
  for_every_shape([&](std::uint64_t value, std::uint32_t attempts, unsigned bits, std::uint32_t entries) {
    const auto ledger = ActivityLedger::decode(value).value();
    const auto attempted = ledger.with_leg1_attempt();
    EXPECT_EQ(outcome(attempted), attempts == 999 ? "over_limit" : "ok");
    if (attempted) {
      EXPECT_EQ(attempted->encode(), value + 1'000'000'000'000);
    }
    const auto entered = ledger.with_entry();
    EXPECT_EQ(outcome(entered), entries == 99'999'999 ? "over_limit" : "ok");
    if (entered) {
      EXPECT_EQ(entered->encode(), value + 1);
    }
    for (unsigned mark = 0; mark < 4; ++mark) {
      const auto marked = ledger.with(all_marks[mark]);
      const bool set = ((bits >> mark) & 1U) == 1U;
      EXPECT_EQ(outcome(marked), set ? "already_done" : "ok") << ledger.digits();
      if (marked) {
        EXPECT_EQ(marked->encode(), value + mark_weights[mark]);
      }
    }
  });
}

TEST(activity_ledger, decode_refuses_any_mark_above_one) {
  for (const std::uint64_t weight : mark_weights)
    for (std::uint64_t digit = 2; digit <= 9; ++digit)
      EXPECT_EQ(outcome(ActivityLedger::decode(1'000'000'000'000 + digit * weight)), "corrupt") << digit * weight;
}

TEST(activity_ledger, decode_refuses_more_than_fifteen_digits) {
  EXPECT_EQ(outcome(ActivityLedger::decode(1'000'000'000'000'000)), "corrupt");
  EXPECT_EQ(outcome(ActivityLedger::decode(std::numeric_limits<std::uint64_t>::max())), "corrupt");
}

// Claim: the counter is three digits wide. Counted up one by one, because a reader of one digit would read the tenth
// attempt as none.
TEST(activity_ledger, counts_all_leg1_attempts_up_to_999) {
  ActivityLedger ledger;
  for (std::uint32_t attempt = 1; attempt <= 999; ++attempt) {
    ledger = ledger.with_leg1_attempt().value();
    ASSERT_EQ(ledger.leg1_attempts(), attempt);
    ASSERT_FALSE(ledger.has(Mark::leg1_complete));
  }
  EXPECT_EQ(ledger.digits(), "999000000000000");
  EXPECT_EQ(outcome(ledger.with_leg1_attempt()), "over_limit");
}

TEST(activity_ledger, describes_itself_in_words) {
  EXPECT_EQ(ActivityLedger().describe(), "leg 1: 0 attempts; leg 2: 0 entries");
  EXPECT_EQ(activity("001111000000001").describe(),
            "leg 1: 1 attempt, complete; leg 2: 1 entry, work done, children spawned");
  EXPECT_EQ(activity("010111100000012").describe(),
            "leg 1: 10 attempts, complete; leg 2: 12 entries, work done, children spawned, "
            "completion tasks done");
}

TEST(activity_ledger, an_error_names_the_ledger_and_the_step) {
  const auto twice = activity("001110000000001").with(Mark::work_done);
  ASSERT_FALSE(twice);
  EXPECT_NE(twice.error().detail.find("001110000000001"), std::string::npos);
  EXPECT_NE(twice.error().detail.find("work done"), std::string::npos);
}

}  // namespace
}  // namespace pawl::ledger
