#include "ledger/duplex_state.h"

#include "ledger/testing.h"

#include <limits>
#include <set>
#include <vector>

namespace pawl::ledger {
namespace {

using Operation = DuplexState::Operation;
using Leg1 = DuplexState::Leg1Verdict;
using Leg2 = DuplexState::Leg2Verdict;
using Arrival = DuplexState::Arrival;
using Worker = DuplexState::WorkerVerdict;

constexpr Operation all_operations[] = {Operation::leg1_entry,     Operation::leg1_exit, Operation::leg2_entry,
                                        Operation::leg2_exit,      Operation::conclude,  Operation::fail,
                                        Operation::undo_leg2_entry};

DuplexState state(std::string_view digits) {
  return DuplexState::decode(static_cast<std::int64_t>(number_of(digits))).value();
}

// Runs operations one after another and returns the digits after each.
std::vector<std::string> trace(DuplexState from, std::initializer_list<Operation> operations) {
  std::vector<std::string> digits;
  for (const Operation operation : operations) {
    from = from.after(operation).value();
    digits.push_back(from.digits());
  }
  return digits;
}

using Digits = std::vector<std::string>;

TEST(duplex_example, leg_1_counts_down_its_entry_and_its_exit) {
  EXPECT_EQ(DuplexState::preset().digits(), "999000000000000");
  EXPECT_EQ(trace(DuplexState::preset(), {Operation::leg1_entry, Operation::leg1_exit}),
            (Digits{"899000000000000", "889000000000000"}));
  EXPECT_EQ(state("899000000000000").leg1_verdict(), Leg1::proceed);
}

TEST(duplex_example, a_crash_in_leg_1_shows_as_799_and_is_run_again) {
  const auto again = state("899000000000000").after(Operation::leg1_entry).value();
  EXPECT_EQ(again.digits(), "799000000000000");
  EXPECT_EQ(again.leg1_verdict(), Leg1::rerun_after_cleanup);
}

TEST(duplex_example, a_crash_before_the_ack_shows_as_789_and_is_verified) {
  const auto again = state("889000000000000").after(Operation::leg1_entry).value();
  EXPECT_EQ(again.digits(), "789000000000000");
  EXPECT_EQ(again.leg1_verdict(), Leg1::verify_children_and_ack);
}

TEST(duplex_example, a_pending_response_then_a_final_one) {
  EXPECT_EQ(trace(state("889000000000000"),
                  {Operation::leg2_entry, Operation::leg2_exit, Operation::leg2_entry, Operation::conclude}),
            (Digits{"889000001000000", "889000001000001", "889000002000001", "888000002000002"}));
}

TEST(duplex_example, a_late_response_is_taken_back) {
  const auto late = state("888000002000002").after(Operation::leg2_entry).value();
  EXPECT_EQ(late.digits(), "888000003000002");
  EXPECT_EQ(late.leg2_verdict(Arrival::response), Leg2::too_late);
  EXPECT_EQ(late.after(Operation::undo_leg2_entry).value().digits(), "888000002000002");
}

TEST(duplex_example, the_closing_delta_is_one_less_a_trillion) {
  // With a billion instead of a trillion the digits below would not result.
  EXPECT_EQ(DuplexState::delta(Operation::conclude), 1 - 1'000'000'000'000);
  EXPECT_EQ(state("889000002000001").encode() + DuplexState::delta(Operation::conclude),
            state("888000002000002").encode());
}

// The lettered sequences. Letters that touch no digit (streams, user code) have no line here; the tests of src/duplex
// run them in order with a crash at each.
TEST(duplex_sequence, the_trigger_begins_closed_and_presets_its_children) {
  EXPECT_EQ(DuplexState::trigger().digits(), "888000001000001");  // B
  EXPECT_TRUE(DuplexState::trigger().closed());
  EXPECT_EQ(DuplexState::preset().digits(), "999000000000000");  // E
}

TEST(duplex_sequence, leg_1_of_a_worker_activity) {
  const auto entered = DuplexState::preset().after(Operation::leg1_entry).value();  // c
  EXPECT_EQ(entered.digits(), "899000000000000");
  EXPECT_EQ(entered.leg1_verdict(), Leg1::proceed);
  EXPECT_EQ(entered.after(Operation::leg1_exit).value().digits(), "889000000000000");  // e
}

TEST(duplex_sequence, a_worker_runs_only_while_the_activity_waits_for_it) {
  EXPECT_EQ(state("889000000000000").worker_verdict(), Worker::run);     // h
  EXPECT_EQ(state("889000004000003").worker_verdict(), Worker::run);     // pending replies before
  EXPECT_EQ(state("888000001000001").worker_verdict(), Worker::cancel);  // closed meanwhile
  EXPECT_EQ(state("887000001000000").worker_verdict(), Worker::cancel);  // failed meanwhile
}

TEST(duplex_sequence, a_worker_that_is_quicker_than_the_exit_of_leg_1_waits) {
  // d comes before e: to cancel at 899 would lose the only request.
  EXPECT_EQ(state("899000000000000").worker_verdict(), Worker::not_yet);
}

TEST(duplex_sequence, a_redelivered_leg_1_message_does_not_cancel_the_worker) {
  // The first digit counts entries of leg 1 and does not concern the worker.
  EXPECT_EQ(state("789000000000000").worker_verdict(), Worker::run);
  EXPECT_EQ(state("789000001000000").leg2_verdict(Arrival::response), Leg2::proceed);
}

TEST(duplex_sequence, leg_2_pending) {
  const auto entered = state("889000000000000").after(Operation::leg2_entry).value();  // m
  EXPECT_EQ(entered.leg2_verdict(Arrival::response), Leg2::proceed);
  const auto served = entered.after(Operation::leg2_exit).value();  // o
  EXPECT_EQ(served.digits(), "889000001000001");
  EXPECT_TRUE(served.open());
}

TEST(duplex_sequence, leg_2_success_or_caught_error) {
  const auto entered = state("889000000000000").after(Operation::leg2_entry).value();  // m
  const auto closed = entered.after(Operation::conclude).value();                      // o, p
  EXPECT_EQ(closed.digits(), "888000001000001");
  EXPECT_TRUE(closed.closed());
  EXPECT_EQ(closed.entries(), 1U);
  EXPECT_EQ(closed.exits(), 1U);
}

TEST(duplex_sequence, leg_2_uncaught_error) {
  const auto entered = state("889000000000000").after(Operation::leg2_entry).value();  // m
  const auto errored = entered.after(Operation::fail).value();                         // p
  EXPECT_EQ(errored.digits(), "887000001000000");
  EXPECT_TRUE(errored.errored());
  EXPECT_FALSE(errored.closed());
}

TEST(duplex_sequence, an_uncaught_error_is_taken_although_leg_1_was_never_left) {
  const auto entered = state("899000000000000").after(Operation::leg2_entry).value();
  EXPECT_EQ(entered.leg2_verdict(Arrival::response), Leg2::too_early);
  EXPECT_EQ(entered.leg2_verdict(Arrival::uncaught_error), Leg2::proceed);
  const auto errored = entered.after(Operation::fail).value();
  EXPECT_EQ(errored.digits(), "897000001000000");
  EXPECT_EQ(errored.after(Operation::leg1_entry).value().leg1_verdict(), Leg1::ack);
}

TEST(duplex_state, the_ninth_leg_1_entry_parks_and_a_tenth_is_refused) {
  DuplexState now = DuplexState::preset();
  for (std::uint32_t entry = 1; entry <= 9; ++entry) {
    now = now.after(Operation::leg1_entry).value();
    EXPECT_EQ(now.leg1_entries(), entry);
    EXPECT_FALSE(now.leg1_left());
    EXPECT_EQ(now.leg1_verdict(), entry == 1 ? Leg1::proceed : entry == 9 ? Leg1::park : Leg1::rerun_after_cleanup);
  }
  EXPECT_EQ(now.digits(), "099000000000000");
  EXPECT_EQ(outcome(now.after(Operation::leg1_entry)), "over_limit");
  const auto borrowed = DuplexState::decode(now.encode() + DuplexState::delta(Operation::leg1_entry));
  EXPECT_EQ(outcome(borrowed), "corrupt");
  EXPECT_NE(borrowed.error().detail.find("below zero"), std::string::npos);
}

TEST(duplex_state, the_ninth_entry_parks_even_when_leg_1_was_left) {
  EXPECT_EQ(state("189000000000000").leg1_verdict(), Leg1::verify_children_and_ack);
  EXPECT_EQ(state("089000000000000").leg1_verdict(), Leg1::park);
  EXPECT_EQ(state("088000001000001").leg1_verdict(), Leg1::park);
}

TEST(duplex_state, a_closed_activity_acks_a_replayed_leg_1) {
  EXPECT_EQ(state("788000001000001").leg1_verdict(), Leg1::ack);
}

TEST(duplex_state, the_last_entry_that_fits_parks_and_one_more_is_refused) {
  const auto last = state("889999998999998").after(Operation::leg2_entry).value();
  EXPECT_EQ(last.digits(), "889999999999998");
  EXPECT_EQ(last.leg2_verdict(Arrival::response), Leg2::park);
  EXPECT_EQ(outcome(last.after(Operation::leg2_entry)), "over_limit");
  // A server that adds it anyway carries into the third digit, which is detected.
  EXPECT_EQ(outcome(DuplexState::decode(last.encode() + DuplexState::delta(Operation::leg2_entry))), "corrupt");
}

TEST(duplex_state, exits_never_outrun_entries_so_they_never_carry) {
  EXPECT_EQ(state("889999999999998").after(Operation::leg2_exit).value().digits(), "889999999999999");
  EXPECT_EQ(outcome(state("889999999999999").after(Operation::leg2_exit)), "invalid");
  EXPECT_EQ(outcome(state("889999999999999").after(Operation::conclude)), "invalid");
  EXPECT_EQ(outcome(state("889000001000001").after(Operation::leg2_exit)), "invalid");
}

TEST(duplex_state, a_second_closer_would_read_as_errored_and_is_refused) {
  const auto closed = state("888000002000001");
  EXPECT_EQ(outcome(closed.after(Operation::conclude)), "already_done");
  EXPECT_EQ(outcome(closed.after(Operation::fail)), "already_done");
  const auto blind = DuplexState::decode(closed.encode() + DuplexState::delta(Operation::conclude));
  EXPECT_TRUE(blind->errored());  // the reason why only the winner of the set-if-absent adds the delta
  const auto third = blind->encode() + DuplexState::delta(Operation::conclude);
  EXPECT_EQ(outcome(DuplexState::decode(third)), "corrupt");
}

TEST(duplex_state, an_operation_out_of_order_is_refused) {
  EXPECT_EQ(outcome(DuplexState::preset().after(Operation::leg1_exit)), "invalid");
  EXPECT_EQ(outcome(state("889000000000000").after(Operation::leg1_exit)), "already_done");
  EXPECT_EQ(outcome(state("889000000000000").after(Operation::fail)), "invalid");
  EXPECT_EQ(outcome(state("889000000000000").after(Operation::undo_leg2_entry)), "invalid");
  EXPECT_EQ(outcome(state("899000001000000").after(Operation::conclude)), "invalid");
}

TEST(duplex_state, decode_refuses_every_other_first_triple) {
  for (int first = 0; first <= 9; ++first)
    for (int second = 0; second <= 9; ++second)
      for (int third = 0; third <= 9; ++third) {
        const std::int64_t stored = (first * 100LL + second * 10LL + third) * 1'000'000'000'000 + 3'000'002;
        const bool possible = second >= 8 && third >= 7 && !(second == 8 && first == 9) && !(third == 8 && second == 9);
        EXPECT_EQ(outcome(DuplexState::decode(stored)), possible ? "ok" : "corrupt") << stored;
      }
  EXPECT_EQ(outcome(DuplexState::decode(-1)), "corrupt");
  EXPECT_EQ(outcome(DuplexState::decode(1'000'000'000'000'000)), "corrupt");
  EXPECT_EQ(outcome(DuplexState::decode(std::numeric_limits<std::int64_t>::min())), "corrupt");
  EXPECT_EQ(outcome(DuplexState::decode(std::numeric_limits<std::int64_t>::max())), "corrupt");
}

// Claim: every value that the operations reach reads back. Checked by walking all of them up to three leg-2 entries.
TEST(duplex_state, everything_reachable_reads_back_and_moves_by_its_delta) {
  std::set<std::int64_t> seen;
  std::vector<DuplexState> open = {DuplexState::preset(), DuplexState::trigger()};
  while (!open.empty()) {
    const DuplexState now = open.back();
    open.pop_back();
    if (now.entries() > 3 || !seen.insert(now.encode()).second) continue;
    EXPECT_EQ(DuplexState::decode(now.encode()).value(), now);
    EXPECT_EQ(now.digits().size(), 15U);
    EXPECT_EQ(static_cast<int>(now.open()) + now.closed() + now.errored(), 1);
    for (const Operation operation : all_operations) {
      const auto next = now.after(operation);
      if (!next) continue;
      EXPECT_EQ(next->encode(), now.encode() + DuplexState::delta(operation));
      open.push_back(*next);
    }
  }
  EXPECT_GT(seen.size(), 200U);
}

// Claim: six-digit counters read correctly at every boundary; the value is composed here by hand.
TEST(duplex_state, counters_read_alone_at_every_boundary) {
  const std::uint32_t edges[] = {0, 1, 9, 10, 99, 100, 9'999, 10'000, 999'998, 999'999};
  for (const std::uint32_t entries : edges)
    for (const std::uint32_t exits : edges) {
      const auto now = DuplexState::decode(889'000'000'000'000 + entries * 1'000'000LL + exits);
      ASSERT_TRUE(now);
      EXPECT_EQ(now->entries(), entries);
      EXPECT_EQ(now->exits(), exits);
      EXPECT_TRUE(now->open());
      EXPECT_TRUE(now->leg1_left());
    }
}

TEST(duplex_state, describes_itself_in_words) {
  EXPECT_EQ(DuplexState::preset().describe(), "leg 1: 0 entries; leg 2: open, 0 entries, 0 exits");
  EXPECT_EQ(state("888000002000001").describe(), "leg 1: 1 entry, left; leg 2: closed, 2 entries, 1 exit");
  EXPECT_EQ(state("797000001000000").describe(), "leg 1: 2 entries; leg 2: errored, 1 entry, 0 exits");
}

}  // namespace
}  // namespace pawl::ledger
