#include "ledger/message_ledger.h"

#include "ledger/testing.h"

#include <limits>
#include <set>
#include <vector>

namespace pawl::ledger {
namespace {

using Step = MessageLedger::Step;

constexpr std::uint64_t snapshot_weight = 100'000'000'000;
constexpr std::uint64_t work_weight = 10'000'000'000;
constexpr std::uint64_t spawn_weight = 1'000'000'000;
constexpr std::uint64_t finish_weight = 100'000'000;
constexpr std::uint32_t ordinals_at_the_edges[] = {1, 9, 10, 11, 99, 100, 999'999, 10'000'000, 99'999'999};

// Every value that the operations can reach from a message with this ordinal.
std::set<std::uint64_t> reachable_from(std::uint32_t ordinal) {
  std::set<std::uint64_t> seen;
  std::vector<MessageLedger> open = {MessageLedger::decode(ordinal).value()};
  while (!open.empty()) {
    const MessageLedger ledger = open.back();
    open.pop_back();
    if (!seen.insert(ledger.encode()).second) continue;
    for (const Step step : {Step::work, Step::spawn, Step::finish})
      if (const auto next = ledger.with(step)) open.push_back(*next);
    if (const auto next = ledger.with_job_closed()) open.push_back(*next);
  }
  return seen;
}

// Claim: decode accepts a set of marks if and only if some order of operations leads to it. Checked by comparing all
// sixteen sets with everything the operations reach.
TEST(message_ledger, decode_accepts_exactly_what_the_operations_can_write) {
  for (const std::uint32_t ordinal : ordinals_at_the_edges) {
    const auto reachable = reachable_from(ordinal);
    for (unsigned bits = 0; bits < 16; ++bits) {
      const std::uint64_t stored = ordinal + (bits & 1U) * snapshot_weight + ((bits >> 1) & 1U) * work_weight +
                                   ((bits >> 2) & 1U) * spawn_weight + ((bits >> 3) & 1U) * finish_weight;
      const auto ledger = MessageLedger::decode(stored);
      EXPECT_EQ(outcome(ledger), reachable.count(stored) == 1 ? "ok" : "corrupt") << stored;
      if (!ledger) continue;
      EXPECT_EQ(ledger->encode(), stored);
      EXPECT_EQ(ledger->digits().size(), 15U);
      EXPECT_EQ(number_of(ledger->digits()), stored);
      EXPECT_EQ(ledger->ordinal(), ordinal);
      EXPECT_EQ(ledger->plane(), ordinal - 1);
      EXPECT_EQ(ledger->job_closed(), (bits & 1U) != 0);
      EXPECT_EQ(ledger->done(Step::work), (bits & 2U) != 0);
      EXPECT_EQ(ledger->done(Step::spawn), (bits & 4U) != 0);
      EXPECT_EQ(ledger->done(Step::finish), (bits & 8U) != 0);
    }
  }
}

// Claim: exactly nine sets of marks exist, listed one by one; the other seven are corrupt.
TEST(message_ledger, has_nine_possible_lives_per_ordinal) {
  EXPECT_EQ(reachable_from(1),
            (std::set<std::uint64_t>{number_of("000000000000001"),     // just seen
                                     number_of("000010000000001"),     // work
                                     number_of("000011000000001"),     // work, children
                                     number_of("000111000000001"),     // and that closed the job
                                     number_of("000111100000001"),     // and the job was completed
                                     number_of("000100000000001"),     // closed by an error at once
                                     number_of("000100100000001"),     // and completed
                                     number_of("000110000000001"),     // closed by an error after work
                                     number_of("000110100000001")}));  // and completed
}

TEST(message_ledger, refuses_second_mark) {
  const auto done = message("000111100000001");
  for (const Step step : {Step::work, Step::spawn, Step::finish}) EXPECT_EQ(outcome(done.with(step)), "already_done");
  EXPECT_EQ(outcome(done.with_job_closed()), "already_done");
}

TEST(message_ledger, spawns_no_children_before_the_work) {
  EXPECT_EQ(outcome(message("000000000000001").with(Step::spawn)), "invalid");
  EXPECT_EQ(outcome(message("000100000000001").with(Step::spawn)), "invalid");
}

TEST(message_ledger, runs_no_completion_tasks_without_the_snapshot) {
  EXPECT_EQ(outcome(message("000011000000001").with(Step::finish)), "invalid");
  EXPECT_EQ(outcome(message("000111000000001").with(Step::finish)), "ok");
}

TEST(message_ledger, marks_nothing_after_the_completion_tasks) {
  EXPECT_EQ(outcome(message("000100100000001").with(Step::work)), "invalid");
  EXPECT_EQ(outcome(message("000110100000001").with(Step::spawn)), "invalid");
}

TEST(message_ledger, decode_refuses_every_other_digit) {
  for (std::uint64_t digit = 2; digit <= 9; ++digit)
    for (const std::uint64_t weight : {snapshot_weight, work_weight, spawn_weight, finish_weight})
      EXPECT_EQ(outcome(MessageLedger::decode(number_of("000111100000001") + (digit - 1) * weight)), "corrupt");
  for (std::uint64_t digit = 1; digit <= 9; ++digit)
    for (const std::uint64_t weight : {100'000'000'000'000U, 10'000'000'000'000U, 1'000'000'000'000U})
      EXPECT_EQ(outcome(MessageLedger::decode(1 + digit * weight)), "corrupt") << digit * weight;
  EXPECT_EQ(outcome(MessageLedger::decode(1'000'000'000'000'001)), "corrupt");
  EXPECT_EQ(outcome(MessageLedger::decode(std::numeric_limits<std::uint64_t>::max())), "corrupt");
}

TEST(message_ledger, decode_refuses_ordinal_zero) {
  EXPECT_EQ(outcome(MessageLedger::decode(0)), "corrupt");
  EXPECT_EQ(outcome(MessageLedger::decode(work_weight)), "corrupt");
}

TEST(message_ledger, cannot_be_opened_by_an_activity_without_an_entry) {
  EXPECT_EQ(outcome(MessageLedger::opened_by(activity("001100000000000"))), "invalid");
}

TEST(message_ledger, the_last_ordinal_still_opens_and_keeps_clear_of_the_marks) {
  const auto last = MessageLedger::opened_by(activity("001111199999999")).value();
  EXPECT_EQ(last.digits(), "000000099999999");
  EXPECT_EQ(last.plane(), 99'999'998U);
  EXPECT_FALSE(last.done(Step::finish));
}

TEST(message_ledger, describes_itself_in_words) {
  EXPECT_EQ(message("000000000000001").describe(), "entry 1 (plane 0): no step committed");
  EXPECT_EQ(message("000011000000003").describe(), "entry 3 (plane 2): work done, children spawned");
  EXPECT_EQ(message("000111100000001").describe(),
            "entry 1 (plane 0): work done, children spawned, closed the job, completion tasks done");
}

}  // namespace
}  // namespace pawl::ledger
