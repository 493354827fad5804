// The working protocol, digit by digit: its worked examples, its rules A to G, and the readings a to l that
// docs/LEDGER.md defines, each as far as a value can show it. What only a later layer can show is noted at the test or,
// where a value shows nothing, in the list at the end of this comment.
//
// Rule B (a mark commits with its writes) and reading k (the GUID of a response is derived from its request) do not
// concern digits: the store's conformance suite and the core's tests prove them.

#include "ledger/activity_ledger.h"
#include "ledger/dimensions.h"
#include "ledger/message_ledger.h"
#include "ledger/semaphore.h"
#include "ledger/testing.h"

#include <optional>
#include <utility>
#include <vector>

namespace pawl::ledger {
namespace {

using Mark = ActivityLedger::Mark;
using Step = MessageLedger::Step;

Semaphore open(std::int64_t value) { return Semaphore::decode(value).value(); }

// What a redelivered message has to do next in a running job: only its own ledger decides.
std::optional<Step> resumes_at(const MessageLedger& ledger) {
  if (!ledger.done(Step::work)) return Step::work;
  if (!ledger.done(Step::spawn)) return Step::spawn;
  if (ledger.job_closed() && !ledger.done(Step::finish)) return Step::finish;
  return std::nullopt;
}

TEST(protocol_example, leg1_entry_and_completion) {
  ActivityLedger ledger;
  EXPECT_EQ(ledger.digits(), "000000000000000");
  ledger = ledger.with_leg1_attempt().value();
  EXPECT_EQ(ledger.digits(), "001000000000000");
  ledger = ledger.with(Mark::leg1_complete).value();
  EXPECT_EQ(ledger.digits(), "001100000000000");
  ledger = ledger.with_leg1_attempt().value();  // the same message, delivered again
  EXPECT_EQ(ledger.digits(), "002100000000000");
  EXPECT_TRUE(ledger.has(Mark::leg1_complete));  // so it is acked at once
  EXPECT_EQ(outcome(ledger.with(Mark::leg1_complete)), "already_done");
}

TEST(protocol_example, leg2_entry_and_step_resume_of_a_single_message) {
  ActivityLedger act = activity("001100000000000").with_entry().value();
  EXPECT_EQ(act.digits(), "001100000000001");
  MessageLedger msg = MessageLedger::opened_by(act).value();
  EXPECT_EQ(msg.digits(), "000000000000001");
  act = act.with(Mark::work_done).value();
  msg = msg.with(Step::work).value();
  EXPECT_EQ(act.digits(), "001110000000001");
  EXPECT_EQ(msg.digits(), "000010000000001");
  // A crash here. What was stored is read again, and the work is not done twice.
  act = ActivityLedger::decode(act.encode()).value();
  msg = MessageLedger::decode(msg.encode()).value();
  EXPECT_EQ(resumes_at(msg), Step::spawn);
  EXPECT_EQ(act.with(Mark::children_spawned).value().digits(), "001111000000001");
  msg = msg.with(Step::spawn).value();
  EXPECT_EQ(msg.digits(), "000011000000001");
  EXPECT_EQ(resumes_at(msg), std::nullopt);  // it did not close the job
}

TEST(protocol_example, step_2_with_two_children_opens_one_more_obligation) {
  const auto step = open(5).step(Semaphore::concluding(2), 0).value();
  EXPECT_EQ(step.after.value(), 6);
  EXPECT_FALSE(step.threshold_hit);
  const auto msg = message("000010000000001").with(Step::spawn).value();
  EXPECT_EQ(msg.digits(), "000011000000001");
  EXPECT_FALSE(msg.job_closed());
  EXPECT_EQ(activity("001110000000001").with(Mark::children_spawned).value().digits(), "001111000000001");
}

TEST(protocol_example, step_2_without_children_closes_the_job) {
  const auto step = open(1).step(Semaphore::concluding(0), 0).value();
  EXPECT_EQ(step.after.value(), 0);
  EXPECT_TRUE(step.threshold_hit);
  auto msg = message("000010000000001").with(Step::spawn).value().with_job_closed().value();
  EXPECT_EQ(msg.digits(), "000111000000001");
  // A crash before step 3: the semaphore is 0 already, and the message's ledger still shows what is left to do.
  msg = MessageLedger::decode(msg.encode()).value();
  EXPECT_EQ(resumes_at(msg), Step::finish);
  msg = msg.with(Step::finish).value();
  EXPECT_EQ(msg.digits(), "000111100000001");
  EXPECT_EQ(resumes_at(msg), std::nullopt);
  EXPECT_EQ(activity("001111000000001").with(Mark::completion_done).value().digits(), "001111100000001");
}

// The table "A pending activity" of docs/LEDGER.md.
TEST(protocol_example, two_pending_replies_then_a_final_one) {
  ActivityLedger act = activity("001100000000000");
  Semaphore semaphore = open(1);
  for (const std::uint32_t plane : {0U, 1U}) {
    act = act.with_entry().value();
    const auto msg = MessageLedger::opened_by(act)->with(Step::work)->with(Step::spawn).value();
    EXPECT_EQ(msg.digits(), plane == 0 ? "000011000000001" : "000011000000002");
    EXPECT_EQ(msg.plane(), plane);
    semaphore = semaphore.step(Semaphore::pending(1), 0)->after;
  }
  EXPECT_EQ(act.digits(), "001100000000002");
  EXPECT_EQ(semaphore.value(), 3);
  act = act.with_entry()->with(Mark::work_done).value();
  EXPECT_EQ(act.digits(), "001110000000003");
  const auto final_reply = MessageLedger::opened_by(act)->with(Step::work).value();
  EXPECT_EQ(final_reply.digits(), "000010000000003");
  EXPECT_EQ(final_reply.with(Step::spawn)->digits(), "000011000000003");
  EXPECT_EQ(act.with(Mark::children_spawned)->digits(), "001111000000003");
  const auto step = semaphore.step(Semaphore::concluding(0), 0).value();
  EXPECT_EQ(step.after.value(), 2);
  EXPECT_FALSE(step.threshold_hit);
}

TEST(protocol_rule, rule_a_ledgers_only_grow) {
  // Takes every allowed operation from every value with up to two attempts and entries.
  std::vector<ActivityLedger> open_values = {ActivityLedger()};
  int steps = 0;
  while (!open_values.empty()) {
    const ActivityLedger before = open_values.back();
    open_values.pop_back();
    std::vector<Result<ActivityLedger>> nexts;
    if (before.leg1_attempts() < 2) nexts.push_back(before.with_leg1_attempt());
    if (before.entries() < 2) nexts.push_back(before.with_entry());
    for (const Mark mark : {Mark::leg1_complete, Mark::work_done, Mark::children_spawned, Mark::completion_done})
      nexts.push_back(before.with(mark));
    for (const auto& next : nexts) {
      if (!next) continue;
      ++steps;
      EXPECT_GT(next->encode(), before.encode());
      open_values.push_back(*next);
    }
  }
  EXPECT_GT(steps, 1'000);
  MessageLedger msg = message("000000000000007");
  for (const Step step : {Step::work, Step::spawn}) {
    const MessageLedger next = msg.with(step).value();
    EXPECT_GT(next.encode(), msg.encode());
    msg = next;
  }
  EXPECT_GT(msg.with_job_closed()->encode(), msg.encode());
}

TEST(protocol_rule, rule_c_the_message_ledger_alone_says_where_to_resume) {
  // The activity's ledger has "work done" from the message that concluded it; another message still reads its own
  // ledger.
  EXPECT_EQ(resumes_at(message("000000000000002")), Step::work);
  EXPECT_EQ(resumes_at(message("000010000000002")), Step::spawn);
  EXPECT_EQ(resumes_at(message("000011000000002")), std::nullopt);
  EXPECT_EQ(resumes_at(message("000111000000002")), Step::finish);
  EXPECT_EQ(resumes_at(message("000111100000002")), std::nullopt);
}

TEST(protocol_rule, rule_d_step_2_is_one_compound_value) {
  // Delta, hit, snapshot and mark follow from one call; the store ensures that they commit together.
  const MessageLedger worked = message("000010000000001");
  for (const std::int64_t before : {1, 2}) {
    const auto step = open(before).step(Semaphore::concluding(0), 0).value();
    auto after = worked.with(Step::spawn).value();
    if (step.threshold_hit) after = after.with_job_closed().value();
    EXPECT_EQ(after.digits(), before == 1 ? "000111000000001" : "000011000000001");
  }
}

TEST(protocol_rule, rule_e_the_snapshot_is_nothing_but_zero_or_one) {
  EXPECT_EQ(outcome(message("000111000000001").with_job_closed()), "already_done");
  for (std::uint64_t digit = 2; digit <= 9; ++digit)
    EXPECT_EQ(outcome(MessageLedger::decode(number_of("000011000000001") + digit * 100'000'000'000)), "corrupt");
}

TEST(protocol_rule, rule_f_every_counter_is_checked_before_it_is_raised) {
  EXPECT_EQ(outcome(activity("998000000000000").with_leg1_attempt()), "ok");
  EXPECT_EQ(outcome(activity("999000000000000").with_leg1_attempt()), "over_limit");
  EXPECT_EQ(outcome(activity("001100099999998").with_entry()), "ok");
  EXPECT_EQ(outcome(activity("001100099999999").with_entry()), "over_limit");
  EXPECT_EQ(outcome(activity("999111199999999").with_leg1_attempt()), "over_limit");
  EXPECT_EQ(outcome(ActivityLedger::decode(1'000'000'000'000'000)), "corrupt");
}

TEST(protocol_rule, rule_g_every_message_reaches_its_ack) {
  // From each possible ledger of a running job at most three steps are left. The core's tests cover the ack, and jobs
  // that ended in another way.
  for (const char* digits :
       {"000000000000001", "000010000000001", "000011000000001", "000111000000001", "000111100000001"}) {
    MessageLedger msg = message(digits);
    int steps = 0;
    while (const auto step = resumes_at(msg)) {
      msg = msg.with(*step).value();
      ASSERT_LE(++steps, 3) << digits;
    }
  }
}

TEST(protocol_reading, reading_a_attempts_are_three_digits_wide) {
  const ActivityLedger ninth = activity("009000000000000");
  const ActivityLedger tenth = ninth.with_leg1_attempt().value();
  EXPECT_EQ(tenth.digits(), "010000000000000");  // the third digit alone would read 0
  EXPECT_EQ(tenth.leg1_attempts(), 10U);
  EXPECT_EQ(activity("100000000000000").leg1_attempts(), 100U);
}

TEST(protocol_reading, reading_b_ten_pending_replies_leave_the_activity_marks_alone) {
  // Pending messages mark only their own ledgers; the core's tests check that the core requests no more.
  ActivityLedger act = activity("001100000000000");
  for (std::uint32_t reply = 1; reply <= 10; ++reply) {
    act = act.with_entry().value();
    const auto msg = MessageLedger::opened_by(act).value().with(Step::work).value();
    EXPECT_EQ(msg.with(Step::spawn).value().ordinal(), reply);
  }
  EXPECT_EQ(act.digits(), "001100000000010");
  act = act.with(Mark::work_done).value();  // the reply that concludes
  EXPECT_EQ(act.digits(), "001110000000010");
  EXPECT_EQ(outcome(act.with(Mark::work_done)), "already_done");
}

TEST(protocol_reading, reading_c_a_message_ledger_opens_with_the_entry_count_only) {
  const auto msg = MessageLedger::opened_by(activity("001110000000042")).value();
  EXPECT_EQ(msg.digits(), "000000000000042");
  EXPECT_FALSE(msg.job_closed());  // copying the whole value would have set it
}

TEST(protocol_reading, reading_d_a_redelivery_keeps_ordinal_and_plane) {
  const MessageLedger first = message("000010000000003");
  const MessageLedger again = MessageLedger::decode(first.encode()).value();
  EXPECT_EQ(again.ordinal(), 3U);
  EXPECT_EQ(again.plane(), 2U);
  EXPECT_EQ(again.with(Step::spawn).value().plane(), 2U);
  EXPECT_EQ(Dimensions::trigger().child().in_plane(again.plane()).text(), ",0,2");
}

TEST(protocol_reading, reading_e_entries_count_messages_so_ordinals_have_no_gap) {
  // Core and store, which look up the GUID, decide that a known GUID adds nothing.
  ActivityLedger act = activity("001100000000000");
  for (std::uint32_t ordinal = 1; ordinal <= 12; ++ordinal) {
    act = act.with_entry().value();
    EXPECT_EQ(MessageLedger::opened_by(act).value().ordinal(), ordinal);
  }
}

TEST(protocol_reading, reading_f_the_second_of_two_consumers_is_told_that_it_is_done) {
  // Both read the same value. The store's guard lets one commit; the other reads again and finds this.
  const MessageLedger read_by_both = message("000000000000001");
  const MessageLedger committed = read_by_both.with(Step::work).value();
  EXPECT_EQ(outcome(committed.with(Step::work)), "already_done");
}

TEST(protocol_reading, reading_g_the_snapshot_gives_the_right_to_step_3_at_semaphore_zero) {
  EXPECT_TRUE(open(1).step(Semaphore::concluding(0), 0).value().threshold_hit);
  EXPECT_EQ(outcome(message("000111000000001").with(Step::finish)), "ok");
  EXPECT_EQ(outcome(message("000011000000001").with(Step::finish)), "invalid");
  EXPECT_EQ(outcome(message("000010000000001").with(Step::finish)), "invalid");
}

TEST(protocol_reading, reading_h_the_first_concluding_message_claims_the_activity) {
  // Timer and signal arrive together: each has its own ledger, one gets the activity's mark.
  const ActivityLedger one = activity("001100000000000").with_entry().value();
  const ActivityLedger claimed = one.with(Mark::work_done).value();
  const ActivityLedger both = claimed.with_entry().value();
  EXPECT_EQ(both.digits(), "001110000000002");
  EXPECT_EQ(outcome(both.with(Mark::work_done)), "already_done");
}

TEST(protocol_reading, reading_h_leg_1_of_a_pivot_is_entry_1_and_the_first_cycle_gets_plane_1) {
  const ActivityLedger leg1 = ActivityLedger().with_leg1_attempt()->with(Mark::leg1_complete)->with_entry().value();
  EXPECT_EQ(leg1.digits(), "001100000000001");
  EXPECT_EQ(MessageLedger::opened_by(leg1).value().plane(), 0U);
  ActivityLedger pivot = leg1.with(Mark::work_done)->with(Mark::children_spawned).value();
  for (std::uint32_t round = 1; round <= 4; ++round) {
    pivot = pivot.with_entry().value();
    const auto cycle = MessageLedger::opened_by(pivot).value();
    EXPECT_EQ(cycle.plane(), round);
    EXPECT_EQ(outcome(cycle.with(Step::work)->with(Step::spawn)), "ok");
  }
  EXPECT_EQ(pivot.digits(), "001111000000005");  // the marks stay as they were first set
}

TEST(protocol_reading, reading_i_obligations_end_stay_or_are_handed_on) {
  EXPECT_EQ(open(1).step(Semaphore::concluding(3), 0).value().after.value(), 3);
  EXPECT_EQ(open(1).step(Semaphore::pending(3), 0).value().after.value(), 4);
  EXPECT_EQ(open(1).step(Semaphore::cycle(), 0).value().after.value(), 1);
  EXPECT_FALSE(open(1).step(Semaphore::pending(0), 0).value().threshold_hit);
}

TEST(protocol_reading, reading_j_a_fused_first_entry_writes_the_same_digits) {
  const ActivityLedger entered = ActivityLedger().with_leg1_attempt().value();
  const auto in_two_commits = ActivityLedger::decode(entered.encode())->with(Mark::leg1_complete);
  const auto in_one = ActivityLedger().with_leg1_attempt()->with(Mark::leg1_complete);
  EXPECT_EQ(in_one.value(), in_two_commits.value());
  EXPECT_EQ(in_one->digits(), "001100000000000");
}

TEST(protocol_reading, reading_l_an_uncaught_error_closes_without_spawning) {
  EXPECT_EQ(outcome(Semaphore::decode(-1)), "corrupt");  // no value below zero has a meaning
  const MessageLedger caused_it = message("000010000000001").with_job_closed().value();
  EXPECT_EQ(caused_it.digits(), "000110000000001");
  const MessageLedger finished = caused_it.with(Step::finish).value();
  EXPECT_EQ(finished.digits(), "000110100000001");
  EXPECT_EQ(outcome(finished.with(Step::spawn)), "invalid");
}

}  // namespace
}  // namespace pawl::ledger
