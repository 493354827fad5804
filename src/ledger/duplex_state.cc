#include "ledger/duplex_state.h"

#include "base/format.h"

namespace pawl::ledger {

namespace {

Error corrupt(std::int64_t stored, std::string_view why) {
  return Error{ErrorCode::corrupt, format("duplex state {}: {}", stored, why)};
}

std::string_view status_of(const DuplexState& state) {
  if (state.open()) return "open";
  return state.closed() ? "closed" : "errored";
}

}  // namespace

Result<DuplexState> DuplexState::decode(std::int64_t stored) {
  static_assert(entries_max == entries_field.max && entries_max == exits_field.max);
  static_assert(leg1_entries_max == leg1_entry_field.max);
  if (stored < 0) return corrupt(stored, "below zero: leg 1 was entered more often than it counts");
  if (stored > static_cast<std::int64_t>(value_max)) return corrupt(stored, "more than 15 digits");
  const auto value = static_cast<std::uint64_t>(stored);
  if (leg1_exit_field.read(value) < left_digit) return corrupt(stored, "digit 2 is below 8");
  if (leg2_status_field.read(value) < errored_digit) return corrupt(stored, "digit 3 is below 7");
  const DuplexState state(value);
  if (state.leg1_left() && state.leg1_entries() == 0) return corrupt(stored, "leg 1 was left and never entered");
  if (state.closed() && !state.leg1_left()) return corrupt(stored, "leg 2 is closed and leg 1 was never left");
  return state;
}

Result<DuplexState> DuplexState::after(Operation operation) const {
  const auto refused = [this](ErrorCode code, std::string_view why) {
    return Error{code, format("duplex state {}: {}", digits(), why)};
  };
  switch (operation) {
    case Operation::leg1_entry:
      if (leg1_entries() == leg1_entries_max) return refused(ErrorCode::over_limit, "leg 1 was entered nine times");
      break;
    case Operation::leg1_exit:
      if (leg1_left()) return refused(ErrorCode::already_done, "leg 1 was left before");
      if (leg1_entries() == 0) return refused(ErrorCode::invalid, "leg 1 was never entered");
      break;
    case Operation::leg2_entry:
      if (entries() == entries_max) return refused(ErrorCode::over_limit, "leg 2 was entered 999,999 times");
      break;
    case Operation::conclude:
      if (!open()) return refused(ErrorCode::already_done, "leg 2 is over");
      if (!leg1_left()) return refused(ErrorCode::invalid, "leg 1 was never left");
      [[fallthrough]];
    case Operation::leg2_exit:
      if (!has_open_entry()) return refused(ErrorCode::invalid, "every entry has its exit");
      break;
    case Operation::fail:
      if (!open()) return refused(ErrorCode::already_done, "leg 2 is over");
      if (!has_open_entry()) return refused(ErrorCode::invalid, "no response has arrived");
      break;
    case Operation::undo_leg2_entry:
      if (!has_open_entry()) return refused(ErrorCode::invalid, "there is no entry to take back");
      break;
  }
  return DuplexState(static_cast<std::uint64_t>(encode() + delta(operation)));
}

DuplexState::Leg1Verdict DuplexState::leg1_verdict() const {
  // Checked first: the next add would borrow, whatever the other digits are.
  if (leg1_entries() == leg1_entries_max) return Leg1Verdict::park;
  if (!open()) return Leg1Verdict::ack;
  if (leg1_left()) return Leg1Verdict::verify_children_and_ack;
  return leg1_entries() == 1 ? Leg1Verdict::proceed : Leg1Verdict::rerun_after_cleanup;
}

DuplexState::Leg2Verdict DuplexState::leg2_verdict(Arrival arrival) const {
  if (!open()) return Leg2Verdict::too_late;
  if (entries() == entries_max) return Leg2Verdict::park;
  // A worker may answer before the exit of leg 1 is written; leg 1 itself may fail before it.
  if (!leg1_left() && arrival == Arrival::response) return Leg2Verdict::too_early;
  return Leg2Verdict::proceed;
}

DuplexState::WorkerVerdict DuplexState::worker_verdict() const {
  if (!open()) return WorkerVerdict::cancel;
  return leg1_left() ? WorkerVerdict::run : WorkerVerdict::not_yet;
}

std::string DuplexState::describe() const {
  const auto counted = [](std::uint32_t count, std::string_view one, std::string_view many) {
    return format("{} {}", count, count == 1 ? one : many);
  };
  return format("leg 1: {}{}; leg 2: {}, {}, {}", counted(leg1_entries(), "entry", "entries"),
                leg1_left() ? ", left" : "", status_of(*this), counted(entries(), "entry", "entries"),
                counted(exits(), "exit", "exits"));
}

}  // namespace pawl::ledger
