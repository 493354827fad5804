#include "ledger/digit_map.h"

#include "ledger/activity_ledger.h"
#include "ledger/duplex_state.h"
#include "ledger/message_ledger.h"

#include <gtest/gtest.h>

namespace pawl::ledger {
namespace {

static_assert(value_max == 999'999'999'999'999);
static_assert(position(1).unit == 100'000'000'000'000);
static_assert(position(15).unit == 1);
static_assert(positions(1, 3).max == 999);
static_assert(positions(8, 15).max == 99'999'999);
static_assert(positions(4, 9).unit == 1'000'000);
static_assert(position(4).read(123'456'789'012'345) == 4);
static_assert(positions(8, 15).read(123'456'789'012'345) == 89'012'345);
static_assert(ActivityLedger().encode() == 0);
static_assert(!ActivityLedger().has(ActivityLedger::Mark::work_done));
static_assert(DuplexState::preset().encode() == 999'000'000'000'000);
static_assert(DuplexState::trigger().encode() == 888'000'001'000'001);

// Claim: what is stored never changes its meaning. The numbers of every mark and delta are written out here again, by
// hand; a change of a position breaks this table.
TEST(stored_numbers, of_the_activity_ledger_are_pinned) {
  using Mark = ActivityLedger::Mark;
  const ActivityLedger none;
  EXPECT_EQ(none.encode(), 0U);
  EXPECT_EQ(none.with_leg1_attempt().value().encode(), 1'000'000'000'000U);
  EXPECT_EQ(none.with(Mark::leg1_complete).value().encode(), 100'000'000'000U);
  EXPECT_EQ(none.with(Mark::work_done).value().encode(), 10'000'000'000U);
  EXPECT_EQ(none.with(Mark::children_spawned).value().encode(), 1'000'000'000U);
  EXPECT_EQ(none.with(Mark::completion_done).value().encode(), 100'000'000U);
  EXPECT_EQ(none.with_entry().value().encode(), 1U);
}

TEST(stored_numbers, of_the_message_ledger_are_pinned) {
  using Step = MessageLedger::Step;
  const auto opened = MessageLedger::opened_by(ActivityLedger().with_entry().value()).value();
  EXPECT_EQ(opened.encode(), 1U);
  const auto closed = opened.with_job_closed().value();
  EXPECT_EQ(closed.encode(), 100'000'000'001U);
  const auto worked = opened.with(Step::work).value();
  EXPECT_EQ(worked.encode(), 10'000'000'001U);
  EXPECT_EQ(worked.with(Step::spawn).value().encode(), 11'000'000'001U);
  EXPECT_EQ(closed.with(Step::finish).value().encode(), 100'100'000'001U);
}

TEST(stored_numbers, of_the_duplex_state_are_pinned) {
  using Operation = DuplexState::Operation;
  EXPECT_EQ(DuplexState::delta(Operation::leg1_entry), -100'000'000'000'000);
  EXPECT_EQ(DuplexState::delta(Operation::leg1_exit), -10'000'000'000'000);
  EXPECT_EQ(DuplexState::delta(Operation::leg2_entry), 1'000'000);
  EXPECT_EQ(DuplexState::delta(Operation::leg2_exit), 1);
  EXPECT_EQ(DuplexState::delta(Operation::conclude), -999'999'999'999);
  EXPECT_EQ(DuplexState::delta(Operation::fail), -2'000'000'000'000);
  EXPECT_EQ(DuplexState::delta(Operation::undo_leg2_entry), -1'000'000);
}

TEST(fifteen_digits, are_always_fifteen_characters) {
  EXPECT_EQ(fifteen_digits(0), "000000000000000");
  EXPECT_EQ(fifteen_digits(1), "000000000000001");
  EXPECT_EQ(fifteen_digits(value_max), "999999999999999");
}

}  // namespace
}  // namespace pawl::ledger
