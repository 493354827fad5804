#include "ledger/activity_ledger.h"

#include "base/format.h"

namespace pawl::ledger {

namespace {

using Mark = ActivityLedger::Mark;

constexpr Mark all_marks[] = {Mark::leg1_complete, Mark::work_done, Mark::children_spawned, Mark::completion_done};

std::string_view words_of(Mark mark) {
  switch (mark) {
    case Mark::leg1_complete:
      return "complete";
    case Mark::work_done:
      return "work done";
    case Mark::children_spawned:
      return "children spawned";
    case Mark::completion_done:
      return "completion tasks done";
  }
  std::abort();
}

}  // namespace

Result<ActivityLedger> ActivityLedger::decode(std::uint64_t stored) {
  static_assert(leg1_attempts_max == attempts_field.max && entries_max == entries_field.max);
  if (stored > value_max)
    return Error{ErrorCode::corrupt, format("activity ledger {} has more than 15 digits", stored)};
  for (const Mark mark : all_marks)
    if (field_of(mark).read(stored) > 1)
      return Error{ErrorCode::corrupt, format("activity ledger {}: the digit for \"{}\" is above 1",
                                              fifteen_digits(stored), words_of(mark))};
  return ActivityLedger(stored);
}

Result<ActivityLedger> ActivityLedger::with_leg1_attempt() const {
  if (leg1_attempts() == leg1_attempts_max)
    return Error{ErrorCode::over_limit,
                 format("leg 1 was entered {} times, the most its ledger can count: {}", leg1_attempts_max, digits())};
  return ActivityLedger(value_ + attempts_field.unit);
}

Result<ActivityLedger> ActivityLedger::with(Mark mark) const {
  if (has(mark))
    return Error{ErrorCode::already_done, format("activity ledger {} already says \"{}\"", digits(), words_of(mark))};
  return ActivityLedger(value_ + field_of(mark).unit);
}

Result<ActivityLedger> ActivityLedger::with_entry() const {
  if (entries() == entries_max)
    return Error{ErrorCode::over_limit,
                 format("leg 2 was entered {} times, the most its ledger can count: {}", entries_max, digits())};
  return ActivityLedger(value_ + entries_field.unit);
}

std::string ActivityLedger::describe() const {
  std::string text = format("leg 1: {} attempt{}", leg1_attempts(), leg1_attempts() == 1 ? "" : "s");
  if (has(Mark::leg1_complete)) text.append(", ").append(words_of(Mark::leg1_complete));
  text.append(format("; leg 2: {} entr{}", entries(), entries() == 1 ? "y" : "ies"));
  for (const Mark mark : {Mark::work_done, Mark::children_spawned, Mark::completion_done})
    if (has(mark)) text.append(", ").append(words_of(mark));
  return text;
}

}  // namespace pawl::ledger
