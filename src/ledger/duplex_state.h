// DuplexState: an encoding of an activity's progress for servers that only offer an atomic add which returns the new
// value. It starts at 999000000000000 and its first three digits count down.
//
//   1          2              3                       4 .. 9          10 .. 15
//   leg-1      leg 1          leg 2                   leg-2 entries   leg-2 exits
//   entries    9 not left     9 open, 8 closed,       (messages that  (messages that
//   (9 - n)    8 left         7 errored               arrived)        were served)
//
// The add comes first and is checked afterwards, so a verdict is computed from the value that the add returned. An
// entry that was not allowed is taken back with undo_leg2_entry.
//
// 1. The ninth leg-1 entry parks the job, because a tenth would borrow from the neighbouring digit. In the same way the
//    last leg-2 entry that fits its six digits parks.
// 2. after() refuses every operation that would carry, borrow or repeat; decode() refuses every value in which a carry
//    or borrow has reached digit 2 or 3.
// 3. Exits and the closing digit change in one add: 1 - 1e12.
// A small value: copy it. It holds no lock and does no I/O.
#pragma once

#include "ledger/digit_map.h"
#include "pawl/result.h"

#include <cstdint>
#include <cstdlib>
#include <string>

namespace pawl::ledger {

class DuplexState {
 public:
  // The letters of the sequences in docs/LEDGER.md, "Duplex state".
  enum class Operation : std::uint8_t {
    leg1_entry,       // c: a transition message was received
    leg1_exit,        // e: its worker request is enqueued
    leg2_entry,       // m: a response arrived
    leg2_exit,        // o: a pending response was served; the activity stays open
    conclude,         // o and p: a final response or a caught error was served
    fail,             // p: an uncaught error; errored, and no exit is counted
    undo_leg2_entry,  // takes back the entry of a response that came too late or too early
  };
  enum class Leg1Verdict : std::uint8_t {
    proceed,                  // the first entry: do the work of leg 1
    rerun_after_cleanup,      // it was entered before and not left: clean up, then do it again
    verify_children_and_ack,  // it was left before: make sure the request is enqueued, then ack
    ack,                      // leg 2 is over as well: nothing is left to do
    park,                     // the last entry that fits: a person decides
  };
  enum class Leg2Verdict : std::uint8_t { proceed, too_early, too_late, park };
  enum class Arrival : std::uint8_t { response, uncaught_error };
  enum class WorkerVerdict : std::uint8_t { run, not_yet, cancel };

  static constexpr std::uint32_t leg1_entries_max = 9;
  static constexpr std::uint32_t entries_max = 999'999;

  static constexpr DuplexState preset();   // E, q: 999000000000000, written before the message
  static constexpr DuplexState trigger();  // B: 888000001000001, the caller did its leg 1

  // From the value that the server returned. Fails with corrupt when no sequence of operations leads to it.
  static Result<DuplexState> decode(std::int64_t stored);
  constexpr std::int64_t encode() const { return static_cast<std::int64_t>(value_); }
  std::string digits() const { return fifteen_digits(value_); }

  // The number to add. It does not depend on the state.
  static constexpr std::int64_t delta(Operation operation);
  // The state after that add; over_limit, already_done or invalid when it must not be added here.
  Result<DuplexState> after(Operation operation) const;

  // For the value that leg1_entry returned.
  Leg1Verdict leg1_verdict() const;
  // For the value that leg2_entry returned.
  Leg2Verdict leg2_verdict(Arrival arrival) const;
  // Before the worker runs (h): whether the job still waits for this.
  WorkerVerdict worker_verdict() const;

  constexpr std::uint32_t leg1_entries() const {
    return leg1_entries_max - static_cast<std::uint32_t>(leg1_entry_field.read(value_));
  }
  constexpr bool leg1_left() const { return leg1_exit_field.read(value_) == left_digit; }
  constexpr bool open() const { return leg2_status_field.read(value_) == open_digit; }
  constexpr bool closed() const { return leg2_status_field.read(value_) == closed_digit; }
  constexpr bool errored() const { return leg2_status_field.read(value_) == errored_digit; }
  constexpr std::uint32_t entries() const { return static_cast<std::uint32_t>(entries_field.read(value_)); }
  constexpr std::uint32_t exits() const { return static_cast<std::uint32_t>(exits_field.read(value_)); }

  std::string describe() const;

  friend constexpr bool operator==(DuplexState, DuplexState) = default;

 private:
  static constexpr Field leg1_entry_field = position(1);
  static constexpr Field leg1_exit_field = position(2);
  static constexpr Field leg2_status_field = position(3);
  static constexpr Field entries_field = positions(4, 9);
  static constexpr Field exits_field = positions(10, 15);

  static constexpr std::uint64_t open_digit = 9;
  static constexpr std::uint64_t left_digit = 8;
  static constexpr std::uint64_t closed_digit = 8;
  static constexpr std::uint64_t errored_digit = 7;

  explicit constexpr DuplexState(std::uint64_t value) : value_(value) {}
  bool has_open_entry() const { return entries() > exits(); }

  std::uint64_t value_;
};

constexpr DuplexState DuplexState::preset() {
  return DuplexState(open_digit * (leg1_entry_field.unit + leg1_exit_field.unit + leg2_status_field.unit));
}

constexpr DuplexState DuplexState::trigger() {
  return DuplexState(left_digit * (leg1_entry_field.unit + leg1_exit_field.unit) +
                     closed_digit * leg2_status_field.unit + entries_field.unit + exits_field.unit);
}

constexpr std::int64_t DuplexState::delta(Operation operation) {
  const auto signed_unit = [](Field field) { return static_cast<std::int64_t>(field.unit); };
  switch (operation) {
    case Operation::leg1_entry:
      return -signed_unit(leg1_entry_field);
    case Operation::leg1_exit:
      return -signed_unit(leg1_exit_field);
    case Operation::leg2_entry:
      return signed_unit(entries_field);
    case Operation::leg2_exit:
      return signed_unit(exits_field);
    case Operation::conclude:
      return signed_unit(exits_field) - signed_unit(leg2_status_field);
    case Operation::fail:
      return -2 * signed_unit(leg2_status_field);
    case Operation::undo_leg2_entry:
      return -signed_unit(entries_field);
  }
  std::abort();
}

}  // namespace pawl::ledger
