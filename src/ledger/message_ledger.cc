#include "ledger/message_ledger.h"

#include "base/format.h"

namespace pawl::ledger {

namespace {

using Step = MessageLedger::Step;

constexpr Step all_steps[] = {Step::work, Step::spawn, Step::finish};

std::string_view words_of(Step step) {
  switch (step) {
    case Step::work:
      return "work done";
    case Step::spawn:
      return "children spawned";
    case Step::finish:
      return "completion tasks done";
  }
  std::abort();
}

Error corrupt(std::uint64_t stored, std::string_view why) {
  return Error{ErrorCode::corrupt, format("message ledger {:015}: {}", stored, why)};
}

}  // namespace

Result<MessageLedger> MessageLedger::opened_by(ActivityLedger after_entry) {
  if (after_entry.entries() == 0)
    return Error{ErrorCode::invalid, format("no message has entered leg 2 of an activity at {}", after_entry.digits())};
  return MessageLedger(after_entry.entries() * ordinal_field.unit);
}

Result<MessageLedger> MessageLedger::decode(std::uint64_t stored) {
  if (stored > value_max) return corrupt(stored, "more than 15 digits");
  if (reserved_field.read(stored) != 0) return corrupt(stored, "positions 1 to 3 must be 0");
  if (snapshot_field.read(stored) > 1) return corrupt(stored, "the snapshot digit is above 1");
  for (const Step step : all_steps)
    if (field_of(step).read(stored) > 1)
      return corrupt(stored, format("the digit for \"{}\" is above 1", words_of(step)));
  const MessageLedger ledger(stored);
  if (ledger.ordinal() == 0) return corrupt(stored, "a message has an ordinal of at least 1");
  if (const char* why = ledger.contradiction()) return corrupt(stored, why);
  return ledger;
}

const char* MessageLedger::contradiction() const {
  if (done(Step::spawn) && !done(Step::work)) return "children were spawned before the work was done";
  if (done(Step::finish) && !job_closed()) return "completion tasks ran for a message that did not close the job";
  return nullptr;
}

Result<MessageLedger> MessageLedger::with(Step step) const {
  if (done(step))
    return Error{ErrorCode::already_done, format("message ledger {} already says \"{}\"", digits(), words_of(step))};
  // The completion tasks are the last step: a step that was left out before them is never marked.
  if (done(Step::finish))
    return Error{ErrorCode::invalid,
                 format("message ledger {} is finished, \"{}\" comes too late", digits(), words_of(step))};
  const MessageLedger after(value_ + field_of(step).unit);
  if (const char* why = after.contradiction())
    return Error{ErrorCode::invalid, format("message ledger {}: {}", after.digits(), why)};
  return after;
}

Result<MessageLedger> MessageLedger::with_job_closed() const {
  if (job_closed())
    return Error{ErrorCode::already_done, format("message ledger {} already says that it closed the job", digits())};
  return MessageLedger(value_ + snapshot_field.unit);
}

std::string MessageLedger::describe() const {
  std::string marks;
  const auto add = [&marks](std::string_view words) {
    if (!marks.empty()) marks.append(", ");
    marks.append(words);
  };
  for (const Step step : {Step::work, Step::spawn})
    if (done(step)) add(words_of(step));
  if (job_closed()) add("closed the job");
  if (done(Step::finish)) add(words_of(Step::finish));
  if (marks.empty()) marks = "no step committed";
  return format("entry {} (plane {}): {}", ordinal(), plane(), marks);
}

}  // namespace pawl::ledger
