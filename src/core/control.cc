// What a person, a program or a deadline asks of a job: interrupt, pause, proceed, redrive. Each is one bundle,
// with fusion or without, so there is nothing between its steps to recover. They are not counted as re-entries:
// they run no user's code, and a parked job must be able to hear them.
#include "base/invariant.h"
#include "base/seeded_bug.h"
#include "core/step.h"

namespace pawl::core {

namespace {

using Step = ledger::MessageLedger::Step;

// A closing transition leaves its snapshot on the ledger of the message that caused it (DESIGN 3.1 l). The
// message enters through the trigger, the one instance that every started job has.
Result<ledger::MessageLedger> closed_by(const ledger::ActivityLedger& entered) {
  auto record = ledger::MessageLedger::opened_by(entered);
  if (record) record = record->with(Step::work);
  if (record) record = record->with(Step::spawn);
  if (record) record = record->with_job_closed();
  if (record) record = record->with(Step::finish);
  return record;
}

void enter_through_trigger(Context& context) {
  const Activity* trigger = context.draft.find(ActivitySeq(0));
  if (trigger == nullptr) return;  // the job was not started yet
  Activity activity = *trigger;
  const auto entered = activity.ledger.with_entry();
  if (!entered) return;  // no digit is left to count it: the job ends all the same
  const auto record = closed_by(*entered);
  invariant(static_cast<bool>(record), "a message that just entered can close its job");
  activity.ledger = *entered;
  context.draft.put(std::move(activity));
  context.draft.put(MessageRecord{context.delivery.message.guid, ActivitySeq(0), *record});
}

}  // namespace

Progress interrupt(Context& context, const Interrupt& message) {
  Draft& draft = context.draft;
  if (is_closed(draft.status())) return acknowledge(context);
  if (seeded(SeededBug::replaced_runs_on) && message.reason.starts_with("replaced")) return acknowledge(context);
  enter_through_trigger(context);
  draft.fail_reason(message.reason.empty() ? "interrupted" : message.reason);
  draft.close(JobStatus::interrupted, context.options.now, std::nullopt);
  draft.finish(std::nullopt);
  return Progress::finished;
}

Progress pause(Context& context, const Pause& message) {
  if (context.draft.active()) context.draft.pause(message.reason.empty() ? "paused" : message.reason);
  return acknowledge(context);
}

Progress proceed(Context& context) {
  if (context.draft.status() == JobStatus::paused) context.draft.proceed();
  return acknowledge(context);
}

Progress redrive(Context& context) {
  if (context.draft.status() == JobStatus::parked) {
    context.draft.count_redrive();
    context.draft.proceed();
  }
  return acknowledge(context);
}

}  // namespace pawl::core
