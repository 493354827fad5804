// Leg 1 of a worker activity: count the entry, then enqueue the request and mark leg 1 complete in one
// commit (seed 002, section 4).
#include "base/limits.h"
#include "core/step.h"

namespace pawl::core {

namespace {

using Mark = ledger::ActivityLedger::Mark;

Activity new_instance(const Context& context, const Transition& transition) {
  Activity activity;
  activity.seq = context.draft.next_activity();
  activity.node = transition.node;
  activity.at = transition.at;
  activity.parent = transition.parent;
  activity.opened_at = context.options.now;
  return activity;
}

void enqueue(Context& context, const Activity& activity, const Transition& transition, const Guid& guid) {
  WorkItem item;
  item.run = context.draft.base().job.run;
  item.activity = activity.seq;
  item.topic = context.graph.nodes()[transition.node].topic;
  item.request = guid.derive(Guid::Purpose::request, 0);
  item.input = transition.input;
  const Policy& policy = context.graph.nodes()[transition.node].policy;
  const Instant now = context.options.now;
  item.priority = context.draft.base().job.priority + policy.priority;
  item.life.queue_timeout = policy.timeouts.queue();
  item.life.attempt_timeout = policy.timeouts.attempt();
  item.life.heartbeat_timeout = policy.timeouts.heartbeat();
  if (policy.timeouts.total().count() != 0) item.life.deadline = now + policy.timeouts.total();
  item.life.at_most_once = policy.guarantee == Guarantee::at_most_once;
  if (policy.timeouts.queue().count() != 0) item.life.queue_by = now + policy.timeouts.queue();
  context.draft.put_work(std::move(item));
}

// Adds one attempt to the instance, opening it if this is the first.
Progress enter(Context& context, const Transition& transition, const Activity* known) {
  Activity activity = known != nullptr ? *known : new_instance(context, transition);
  const auto entered = activity.ledger.with_leg1_attempt();
  if (!entered) return park(context, entered.error());
  activity.ledger = *entered;
  context.draft.put(std::move(activity));
  context.entered = true;
  return Progress::commit_first;
}

}  // namespace

Status open_with_work(Context& context, const Transition& transition, const Guid& guid) {
  Activity activity = new_instance(context, transition);
  const auto entered = activity.ledger.with_leg1_attempt();
  if (!entered) return entered.error();
  const auto complete = entered->with(Mark::leg1_complete);
  if (!complete) return complete.error();
  activity.ledger = *complete;
  enqueue(context, activity, transition, guid);
  context.draft.put(std::move(activity));
  return {};
}

Progress leg1(Context& context, const Transition& transition) {
  const Delivery& delivery = context.delivery;
  const Activity* known = context.draft.find(transition.node, transition.at);
  if (is_closed(context.draft.status())) return acknowledge(context);
  const bool reentry = delivery.origin == Origin::loaded && !delivery.entered;
  if (reentry) {
    if (count_reentry(context) == Progress::parked) return Progress::parked;
    return enter(context, transition, known);
  }
  if (known != nullptr && known->ledger.has(Mark::leg1_complete)) return acknowledge(context);

  if (!delivery.entered) {
    if (context.alone() || known != nullptr) return enter(context, transition, known);
    const auto opened = open_with_work(context, transition, delivery.message.guid);
    if (!opened) return park(context, opened.error());
    return acknowledge(context);
  }
  Activity activity = *known;
  const auto complete = activity.ledger.with(Mark::leg1_complete);
  if (!complete) return park(context, complete.error());
  activity.ledger = *complete;
  enqueue(context, activity, transition, delivery.message.guid);
  context.draft.put(std::move(activity));
  return context.alone() ? Progress::commit_first : acknowledge(context);
}

}  // namespace pawl::core
