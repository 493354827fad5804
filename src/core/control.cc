// What a person, a program or a deadline asks of a job: interrupt, pause, proceed, redrive. Each is one bundle, with
// fusion or without, so there is nothing between its steps to recover. They are not counted as re-entries: they run no
// user code, and a parked job must still receive them.
#include "core/child_name.h"
#include "core/step.h"

namespace pawl::core {

Progress interrupt(Context& context, const Interrupt& message) {
  Draft& draft = context.draft;
  if (is_closed(draft.status())) return acknowledge(context);
  draft.fail_reason(message.reason.empty() ? "interrupted" : message.reason);
  draft.fail_with(message.code);
  const auto closed = close_through_trigger(context, JobStatus::interrupted, true);
  return closed ? acknowledge(context) : park(context, closed.error());
}

Progress cancel(Context& context, const Cancel& message) {
  Draft& draft = context.draft;
  // A job that is being undone ends soon, or is parked because that failed: cancelling it changes nothing.
  if (is_closed(draft.status()) || draft.undoing()) return acknowledge(context);
  const std::string reason = message.reason.empty() ? "cancelled" : message.reason;
  auto first = next_undo(context);
  if (!first) return interrupt(context, Interrupt{message.code, reason});
  if (!draft.active()) draft.proceed();  // what undoes it must run
  draft.fail_with(message.code);
  const auto begun = begin_undo(context, std::move(*first));
  if (!begun) return park(context, begun.error());
  draft.mark_cancelled();
  draft.fail_reason(reason);
  return acknowledge(context);
}

Progress end_job(Context& context, const EndJob& message) {
  Draft& draft = context.draft;
  const auto& parent = draft.base().job.parent;
  const bool meant =
      !message.parent || (parent && parent->run == *message.parent && context.guid() == end_of_child(parent->request));
  if (is_closed(draft.status()) || !meant) return acknowledge(context);
  if (message.throws) draft.fail_with(message.code);
  if (message.throws) draft.fail_reason(message.reason.empty() ? "interrupted" : message.reason);
  if (message.keep) draft.keep_instead(*message.keep);
  const auto closed = close_through_trigger(context, JobStatus::interrupted, message.descend);
  return closed ? acknowledge(context) : park(context, closed.error());
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

namespace {

// A hook that waits for a person takes the answer as if it were signalled.
Progress answer_hook(Context& context, const GiveAnswer& message, const Activity& hook) {
  const bool is_known = context.draft.find_message(context.guid()) != nullptr;
  if (!is_known && (!context.draft.active() || hook.status != ActivityStatus::open)) return acknowledge(context);
  if (context.must_count()) return count_reentry(context);
  return leg2(context, Answer{message.activity, ReplyStatus::success, message.code, message.data, Answer::Role::answer,
                              Speaker::signal});
}

}  // namespace

// The worker is not asked: its item goes, and this is the answer. In one bundle, or the item would be handed out
// before.
Progress give_answer(Context& context, const GiveAnswer& message) {
  Draft& draft = context.draft;
  const Activity* activity = draft.find(message.activity);
  if (activity != nullptr && context.node(*activity).kind == Graph::Kind::hook)
    return answer_hook(context, message, *activity);
  const MessageRecord* record = draft.find_message(context.guid());
  if (record == nullptr) {
    const WorkItem* item = draft.find_work(message.activity);
    if (draft.status() != JobStatus::parked || item == nullptr) return acknowledge(context);
    draft.count_redrive();
    draft.proceed();
    draft.drop_work(WorkItem(*item));
  }
  return leg2(context, Answer{message.activity, ReplyStatus::success, message.code, message.data});
}

}  // namespace pawl::core
