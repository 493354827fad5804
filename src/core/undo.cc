// Compensation: a job that fails undoes what it did before it ends, the newest first, one after the other. Each undo is
// an activity like any other: it has an instance below the one it undoes, with its own attempts and ledger. The
// instances show which undos are done; the sign of the job's code shows that it is being undone.
#include "base/format.h"
#include "core/kinds/kinds.h"

namespace pawl::core {

std::optional<Body> next_undo(const Context& context) {
  if (!context.graph.can_undo()) return std::nullopt;
  // An activity that began after another one had ended has the larger number, independent of clocks.
  for (std::uint32_t seq = context.draft.next_activity().raw(); seq-- > 0;) {
    const Activity* activity = context.draft.find(ActivitySeq(seq));
    if (activity == nullptr || activity->status != ActivityStatus::completed) continue;
    const auto undo = context.node(*activity).undo;
    if (!undo) continue;
    const ledger::Dimensions at = activity->at.in_plane(0).child();
    if (context.draft.find(*undo, at, activity->seq) != nullptr) continue;  // it is undone
    return Transition{*undo, at, activity->seq, context.graph.program() != nullptr ? Payload() : activity->output};
  }
  return std::nullopt;
}

std::optional<Body> undo_before_end(Context& context) {
  Draft& draft = context.draft;
  if (!context.graph.can_undo() || draft.undoing()) return std::nullopt;
  if (draft.code() == 0) {
    const auto wrong = mismatch_at_end(context);
    if (!wrong) return std::nullopt;
    auto first = next_undo(context);
    if (!first) return std::nullopt;  // the closing step reports the error
    draft.fail_reason(*wrong);
    draft.fail_with(code_mismatch);
    return first;
  }
  return next_undo(context);
}

Status begin_undo(Context& context, Body first) {
  Draft& draft = context.draft;
  const std::uint32_t count = draft.next_activity().raw();
  for (std::uint32_t seq = 0; seq < count; ++seq) {
    const Activity* activity = draft.find(ActivitySeq(seq));
    if (activity != nullptr && activity->status == ActivityStatus::open)
      (void)kinds::abandon(context, Activity(*activity));
  }
  const std::int64_t delta = 1 - draft.semaphore();
  const auto semaphore = ledger::Semaphore::decode(draft.semaphore());
  if (!semaphore) return semaphore.error();
  const auto stepped = semaphore->step(delta, draft.base().job.threshold);
  if (!stepped) return stepped.error();
  draft.step_semaphore(delta, *stepped);
  draft.begin_undo();
  // Messages on their way belong to activities that have just ended; they are turned away when they come (is_undone).
  // They are not swept: a person's request may be among them.
  context.passed_on.clear();
  context.pass_on(Message{context.guid().derive(Guid::Purpose::transition, 0), std::move(first)});
  return {};
}

bool is_undone(const Context& context, const Body& body) {
  if (!context.draft.undoing()) return false;
  if (const auto* transition = std::get_if<Transition>(&body)) return !context.node(transition->node).is_undo;
  // The deadline of the job does not end the undo; a person may.
  if (std::holds_alternative<Interrupt>(body)) return context.guid() == deadline_guid(context.draft.base().job.run);
  return std::holds_alternative<Reenter>(body) || std::holds_alternative<Arrive>(body) ||
         std::holds_alternative<Item>(body);
}

}  // namespace pawl::core
