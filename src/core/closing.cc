// The ends of a job. A closing bundle sets the state, takes the semaphore to 0, removes the job's waiting messages and
// work, cancels what the job waits for elsewhere, and leaves its snapshot on the message that caused it.
#include "base/format.h"
#include "base/invariant.h"
#include "base/quote.h"
#include "core/kinds/kinds.h"

namespace pawl::core {

namespace {

using Step = ledger::MessageLedger::Step;

constexpr std::int32_t code_completed = 200;

// In a graph without a program only work can be open, and the sweep removes it.
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
  if (!entered) return;  // no digit is left to count it: the job still ends
  const auto record = closed_by(*entered);
  invariant(static_cast<bool>(record), "a message that just entered can close its job");
  activity.ledger = *entered;
  context.draft.put(std::move(activity));
  context.draft.put(MessageRecord{context.guid(), seq, *record, {}});
}

struct End {
  ReplyStatus status = ReplyStatus::success;
  std::int32_t code = 200;
  Payload data;
};

End end_of(const Draft& draft, const Payload& data) {
  if (draft.code() == 0 && draft.status() != JobStatus::failed) return End{ReplyStatus::success, 200, data};
  const std::int32_t code = draft.code() != 0 ? draft.code() : 500;
  return End{ReplyStatus::error, code,
             Payload(format("{{\"code\":{},\"message\":{}}}", code, json_quoted(draft.reason())))};
}

// A job that completes must have the data that its graph promises; otherwise it fails permanently. A job that ends with
// an error keeps that error, and its reason also names the missing data.
JobStatus check_data(Draft& draft, const Program& program, const Sight& sight, JobStatus status) {
  const bool completes = status == JobStatus::completed;
  if (!completes && draft.code() == 0) return status;  // ended early, on purpose
  const auto wrong = program.mismatch(sight, completes ? code_completed : draft.code());
  if (!wrong) return status;
  if (!completes) {
    draft.fail_reason(draft.reason().empty() ? *wrong : format("{}; {}", draft.reason(), *wrong));
    return status;
  }
  draft.fail_reason(*wrong);
  draft.fail_with(code_mismatch);
  return JobStatus::failed;
}

}  // namespace

Status set_keep(Context& context) {
  Draft& draft = context.draft;
  const Program* program = context.graph.program();
  if (program == nullptr || draft.find(ActivitySeq(0)) == nullptr) return {};
  const auto keep = program->keep(sight_of(context, *draft.find(ActivitySeq(0))));
  if (!keep) return keep.error();
  if (*keep && !draft.keeps()) draft.keep_for(**keep);
  return {};
}

void announce_end(Context& context, const Payload& data) {
  Draft& draft = context.draft;
  const auto& parent = draft.base().job.parent;
  const Program* program = context.graph.program();
  const bool published = program != nullptr && !program->publishes().raw().empty();
  const bool awaited = parent && parent->awaits;
  if (!published && !awaited) return;
  End end = end_of(draft, data);
  if (published)
    draft.announce(
        Announce{program->publishes(), Announce::What::end, end.status, end.code, context.options.now, end.data});
  if (awaited)
    draft.send(Envelope{parent->run, Message{last_word_of(parent->request),
                                             ChildDone{parent->activity, end.status, end.code, std::move(end.data)}}});
}

Status close_job(Context& context, JobStatus status, bool descend) {
  Draft& draft = context.draft;
  const auto kept = set_keep(context);
  if (!kept) return kept;
  if (const Program* program = context.graph.program(); program != nullptr && draft.find(ActivitySeq(0)) != nullptr)
    status = check_data(draft, *program, sight_of(context, *draft.find(ActivitySeq(0))), status);
  if (draft.semaphore() != 0) call_off_all(context, descend);
  draft.close(status, context.options.now, context.guid());
  return {};
}

void finish_job(Context& context, std::optional<Payload> result) {
  Draft& draft = context.draft;
  // The job's data is its result, unless activities hand their answers on and no data was shared.
  const bool is_answer = context.graph.hands_on() && draft.data().empty();
  if (context.graph.program() != nullptr && !is_answer) result = shared_data(draft);
  if (!draft.end_announced()) announce_end(context, result ? *result : shared_data(draft));
  draft.finish(std::move(result));
}

Status close_through_trigger(Context& context, JobStatus status, bool descend) {
  enter_through(context, ActivitySeq(0));
  const auto closed = close_job(context, status, descend);
  if (!closed) return closed;
  finish_job(context, std::nullopt);
  return {};
}

std::optional<std::string> mismatch_at_end(const Context& context) {
  const Program* program = context.graph.program();
  const Activity* trigger = context.draft.find(ActivitySeq(0));
  if (program == nullptr || trigger == nullptr) return std::nullopt;
  return program->mismatch(sight_of(context, *trigger), code_completed);
}

Status give_back(Context& context, ActivitySeq of) {
  Draft& draft = context.draft;
  if (draft.semaphore() - 1 == draft.base().job.threshold)
    if (auto first = undo_before_end(context)) return begin_undo(context, std::move(*first));
  const auto semaphore = ledger::Semaphore::decode(draft.semaphore());
  if (!semaphore) return semaphore.error();
  const auto stepped = semaphore->step(-1, draft.base().job.threshold);
  if (!stepped) return stepped.error();
  draft.step_semaphore(-1, *stepped);
  if (!stepped->threshold_hit) return {};
  enter_through(context, of);
  const auto closed = close_job(context, draft.final_status(), true);
  if (!closed) return closed;
  finish_job(context, std::nullopt);
  return {};
}

}  // namespace pawl::core
