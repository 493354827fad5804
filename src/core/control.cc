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

}  // namespace pawl::core
