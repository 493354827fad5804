// MessageLedger: how far one leg-2 message has come. It decides where a redelivered message resumes.
//
//   1 2 3      4           5          6         7           8 .. 15
//   always 0   closed the  work       children  completion  ordinal: which entry of
//              job         done       spawned   tasks done  the activity this is
//
// 1. The ordinal is written once, when the message is first seen, and never changes: the plane (ordinal - 1) is the
//    same for every redelivery.
// 2. Steps are marked at most once. Children are spawned only after the work; the completion tasks need the snapshot at
//    position 4, and nothing is marked after them.
// 3. The snapshot may be set without "children spawned": a job closed by an uncaught error or an interrupt never
//    reaches the spawning step.
// A small value: copy it. It holds no lock and does no I/O.
#pragma once

#include "ledger/activity_ledger.h"
#include "ledger/digit_map.h"
#include "pawl/result.h"

#include <cstdint>
#include <cstdlib>
#include <string>

namespace pawl::ledger {

class MessageLedger {
 public:
  // Stored as digits: never renumber the positions behind these names.
  enum class Step : std::uint8_t { work, spawn, finish };

  // The ledger of a message seen for the first time. `after_entry` is the activity's ledger with the entry that this
  // message just added. Only its entry count is copied, because the leg-1 mark would mean "closed the job" here. Fails
  // with invalid when the activity has no entry.
  static Result<MessageLedger> opened_by(ActivityLedger after_entry);

  // 000000000000001: the first message of an activity, nothing done.
  constexpr MessageLedger() : value_(1) {}

  // Fails with corrupt when this class cannot have written the digits.
  static Result<MessageLedger> decode(std::uint64_t stored);
  constexpr std::uint64_t encode() const { return value_; }
  std::string digits() const { return fifteen_digits(value_); }

  constexpr std::uint32_t ordinal() const { return static_cast<std::uint32_t>(ordinal_field.read(value_)); }
  constexpr std::uint32_t plane() const { return ordinal() - 1; }
  constexpr bool done(Step step) const { return field_of(step).read(value_) == 1; }
  constexpr bool job_closed() const { return snapshot_field.read(value_) == 1; }

  // already_done when it is set; invalid when the protocol does not allow it here.
  Result<MessageLedger> with(Step step) const;
  Result<MessageLedger> with_job_closed() const;

  // "entry 1 (plane 0): work done, children spawned": for people.
  std::string describe() const;

  friend constexpr bool operator==(MessageLedger, MessageLedger) = default;

 private:
  static constexpr Field reserved_field = positions(1, 3);
  static constexpr Field snapshot_field = position(4);
  static constexpr Field ordinal_field = positions(8, 15);

  static constexpr Field field_of(Step step) {
    switch (step) {
      case Step::work:
        return position(5);
      case Step::spawn:
        return position(6);
      case Step::finish:
        return position(7);
    }
    std::abort();
  }

  explicit constexpr MessageLedger(std::uint64_t value) : value_(value) {}
  const char* contradiction() const;  // null when the marks fit together

  std::uint64_t value_;
};

}  // namespace pawl::ledger
