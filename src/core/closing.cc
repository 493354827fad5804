// The ends of a job. A closing bundle sets the state, takes the semaphore to 0, sweeps what the job has waiting,
// calls off what it waits for elsewhere, and leaves its snapshot on the message that caused it (DESIGN 3.1 l).
#include "base/format.h"
#include "base/invariant.h"
#include "base/quote.h"
#include "base/seeded_bug.h"
#include "core/kinds/kinds.h"

namespace pawl::core {

namespace {

using Step = ledger::MessageLedger::Step;

// Of graphs without a program nobody waits for anything but work, which is swept.
void call_off_all(Context& context, bool cancel_children) {
  if (context.graph.program() == nullptr) return;
  for (std::uint32_t seq = 0; seq < context.draft.next_activity().raw(); ++seq) {
    const Activity* activity = context.draft.find(ActivitySeq(seq));
    const bool waits = activity != nullptr && activity->status == ActivityStatus::open;
    if (waits) kinds::call_off(context, *activity, cancel_children);
  }
}

Result<ledger::MessageLedger> closed_by(const ledger::ActivityLedger& entered) {
  auto record = ledger::MessageLedger::opened_by(entered);
  if (record) record = record->with(Step::work);
  if (record) record = record->with(Step::spawn);
  if (record) record = record->with_job_closed();
  if (record) record = record->with(Step::finish);
  return record;
}

// The message enters through an instance that exists and leaves the snapshot there.
void enter_through(Context& context, ActivitySeq seq) {
  const Activity* known = context.draft.find(seq);
  if (known == nullptr) return;  // the job was not started yet
  Activity activity = *known;
  const auto entered = activity.ledger.with_entry();
  if (!entered) return;  // no digit is left to count it: the job ends all the same
  const auto record = closed_by(*entered);
  invariant(static_cast<bool>(record), "a message that just entered can close its job");
  activity.ledger = *entered;
  context.draft.put(std::move(activity));
  context.draft.put(MessageRecord{context.guid(), seq, *record, {}});
}

void tell_parent(Context& context) {
  const Draft& draft = context.draft;
  const auto& parent = draft.base().job.parent;
  if (!parent || !parent->awaits || seeded(SeededBug::child_end_not_told)) return;
  ChildDone word{parent->activity, ReplyStatus::success, 200, draft.data()};
  if (draft.code() != 0 || draft.status() == JobStatus::failed) {
    word.status = ReplyStatus::error;
    word.code = draft.code() != 0 ? draft.code() : 500;
    word.data = Payload(format("{{\"code\":{},\"message\":{}}}", word.code, json_quoted(draft.reason())));
  }
  if (word.data.empty()) word.data = Payload("{}");
  context.draft.send(
      Envelope{parent->run, Message{parent->request.derive(Guid::Purpose::child_result, 0), std::move(word)}});
}

// What becomes of a job whose last obligation is gone.
JobStatus drained(const Draft& draft) { return draft.code() != 0 ? JobStatus::failed : JobStatus::completed; }

}  // namespace

Status close_job(Context& context, JobStatus status, bool descend) {
  Draft& draft = context.draft;
  if (const Program* program = context.graph.program(); program != nullptr && draft.find(ActivitySeq(0)) != nullptr) {
    const auto keep = program->keep(sight_of(context, *draft.find(ActivitySeq(0))));
    if (!keep) return keep.error();
    if (*keep && !draft.keeps()) draft.keep_for(**keep);
  }
  if (draft.semaphore() != 0) call_off_all(context, descend);
  draft.close(status, context.options.now, context.guid());
  return {};
}

void finish_job(Context& context, std::optional<Payload> result) {
  if (context.graph.program() != nullptr) {
    result = context.draft.data();
    if (result->empty()) result = Payload("{}");
  }
  tell_parent(context);
  context.draft.finish(std::move(result));
}

Status close_through_trigger(Context& context, JobStatus status, bool descend) {
  enter_through(context, ActivitySeq(0));
  const auto closed = close_job(context, status, descend);
  if (!closed) return closed;
  finish_job(context, std::nullopt);
  return {};
}

Status give_back(Context& context, ActivitySeq of) {
  Draft& draft = context.draft;
  const auto semaphore = ledger::Semaphore::decode(draft.semaphore());
  if (!semaphore) return semaphore.error();
  const auto stepped = semaphore->step(-1, draft.base().job.threshold);
  if (!stepped) return stepped.error();
  draft.step_semaphore(-1, *stepped);
  if (!stepped->threshold_hit) return {};
  enter_through(context, of);
  const auto closed = close_job(context, drained(draft), true);
  if (!closed) return closed;
  finish_job(context, std::nullopt);
  return {};
}

}  // namespace pawl::core
