// The trigger: its leg 1 was the caller, so its instance is opened with leg 1 complete, in the same bundle
// that enters its leg 2.
#include "core/step.h"

namespace pawl::core {

Progress start(Context& context, const Start& start_message) {
  if (context.delivery.origin == Origin::loaded && !context.delivery.entered) return count_reentry(context);
  auto given = unpack_start(start_message.input);
  if (!given) return park(context, given.error());
  if (context.draft.find(ActivitySeq(0)) == nullptr && context.draft.active()) {
    using Mark = ledger::ActivityLedger::Mark;
    Activity trigger;
    trigger.seq = context.draft.next_activity();
    trigger.node = context.graph.trigger();
    trigger.at = ledger::Dimensions::trigger();
    trigger.opened_at = context.draft.base().job.created_at;
    const auto entered = trigger.ledger.with_leg1_attempt();
    if (!entered) return park(context, entered.error());
    const auto complete = entered->with(Mark::leg1_complete);
    if (!complete) return park(context, complete.error());
    trigger.ledger = *complete;
    // Kept as long as the job is: any activity may ask for it.
    trigger.state = pack({Payload(), std::move(given->carried), std::move(given->earlier), std::move(given->trace)});
    context.draft.put(std::move(trigger));
  }
  return leg2(context, Answer{ActivitySeq(0), ReplyStatus::success, 200, given->input});
}

}  // namespace pawl::core
