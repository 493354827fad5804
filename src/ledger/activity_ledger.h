// ActivityLedger: what one activity instance has durably committed, as one number that only grows.
//
//   1 2 3   4         5          6         7           8 .. 15
//   leg-1   leg 1     work       children  completion  leg-2
//   tries   complete  done       spawned   tasks done  entries
//
// 1. A mark is 0 or 1, and a second mark of the same step is refused: ten replies never carry.
// 2. A counter stops at its ceiling with an error and never overflows into the next field.
// 3. Only a message that concludes the activity sets the marks at 5 to 7 (the caller ensures it).
// A small value: copy it. It holds no lock and does no I/O.
#pragma once

#include "ledger/digit_map.h"
#include "pawl/result.h"

#include <cstdint>
#include <cstdlib>
#include <string>

namespace pawl::ledger {

class ActivityLedger {
 public:
  // Stored as digits: never renumber the positions behind these names.
  enum class Mark : std::uint8_t { leg1_complete, work_done, children_spawned, completion_done };

  static constexpr std::uint32_t leg1_attempts_max = 999;
  static constexpr std::uint32_t entries_max = 99'999'999;

  constexpr ActivityLedger() = default;  // 000000000000000: nothing has happened yet

  // Fails with corrupt when this class cannot have written one of the digits.
  static Result<ActivityLedger> decode(std::uint64_t stored);
  constexpr std::uint64_t encode() const { return value_; }
  std::string digits() const { return fifteen_digits(value_); }

  constexpr std::uint32_t leg1_attempts() const { return static_cast<std::uint32_t>(attempts_field.read(value_)); }
  constexpr bool has(Mark mark) const { return field_of(mark).read(value_) == 1; }
  constexpr std::uint32_t entries() const { return static_cast<std::uint32_t>(entries_field.read(value_)); }

  Result<ActivityLedger> with_leg1_attempt() const;  // over_limit at leg1_attempts_max
  Result<ActivityLedger> with(Mark mark) const;      // already_done when the mark is set
  Result<ActivityLedger> with_entry() const;         // over_limit at entries_max

  // "leg 1: 1 attempt, complete; leg 2: 1 entry, work done": for people.
  std::string describe() const;

  friend constexpr bool operator==(ActivityLedger, ActivityLedger) = default;

 private:
  static constexpr Field attempts_field = positions(1, 3);
  static constexpr Field entries_field = positions(8, 15);

  static constexpr Field field_of(Mark mark) {
    switch (mark) {
      case Mark::leg1_complete:
        return position(4);
      case Mark::work_done:
        return position(5);
      case Mark::children_spawned:
        return position(6);
      case Mark::completion_done:
        return position(7);
    }
    std::abort();
  }

  explicit constexpr ActivityLedger(std::uint64_t value) : value_(value) {}

  std::uint64_t value_ = 0;
};

}  // namespace pawl::ledger
