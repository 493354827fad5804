// Leg 1: count the entry, then make the kind's request and mark leg 1 complete in one commit. A kind that does not wait
// for an answer continues with leg 2 under the same message.
#include "core/kinds/kinds.h"

namespace pawl::core {

namespace {

using Mark = ledger::ActivityLedger::Mark;

// Adds one entry to the instance and opens it if this is the first.
Progress enter(Context& context, const Transition& transition, const Activity* known) {
  if (known == nullptr) {
    auto opened = open_instance(context, transition.node, transition.at, transition.parent);
    if (!opened) return park(context, opened.error());
    context.draft.put(std::move(*opened));
  } else {
    Activity activity = *known;
    const auto entered = activity.ledger.with_leg1_attempt();
    if (!entered) return park(context, entered.error());
    activity.ledger = *entered;
    context.draft.put(std::move(activity));
  }
  context.entered = true;
  return Progress::commit_first;
}

// Only kinds that wait have a state, and a worker's request is its work item. For a child that is not awaited the
// parent has no request.
bool is_its_own_answer(const Context& context, const Activity& activity) {
  using Kind = Graph::Kind;
  if (kinds::carried_answer(context, activity)) return true;
  const Kind kind = context.node(activity).kind;
  if (kind == Kind::worker || kind == Kind::cycle || kind == Kind::trigger) return false;
  if (kind != Kind::await || activity.state.empty()) return activity.state.empty();
  const auto state = decode_state<AwaitState>(activity.state.view());
  return state && !state->is_awaited();
}

Progress answer_itself(Context& context, const Activity& activity, const kinds::Begun& begun) {
  return leg2(context, Answer{activity.seq, begun.status, begun.code, begun.data, Answer::Role::answer, begun.speaker});
}

// `statusThreshold`: with this few open obligations, the activity is not begun.
Result<bool> is_skipped(const Context& context, const Activity& activity) {
  const Program* program = context.graph.program();
  if (program == nullptr) return false;
  const auto threshold = program->threshold(sight_of(context, activity));
  if (!threshold) return threshold.error();
  return *threshold > 0 && context.draft.semaphore() <= *threshold;
}

Progress skip(Context& context, Activity activity) {
  const ActivitySeq seq = activity.seq;
  activity.status = ActivityStatus::skipped;
  activity.closed_at = context.options.now;
  const Activity skipped = activity;
  context.draft.put(std::move(activity));
  kinds::skip_edges(context, skipped, 0, {});
  const auto given = give_back(context, seq);
  return given ? acknowledge(context) : park(context, given.error());
}

Progress begin(Context& context, const Transition& transition, Activity activity) {
  const ActivitySeq seq = activity.seq;
  const auto skipped = is_skipped(context, activity);
  if (!skipped) return park(context, skipped.error());
  if (*skipped) return skip(context, std::move(activity));
  const auto begun = kinds::begin(context, activity, transition);
  if (!begun) return park(context, begun.error());
  if (!context.draft.active()) return acknowledge(context);  // it ended the job
  const auto complete = activity.ledger.with(Mark::leg1_complete);
  if (!complete) return park(context, complete.error());
  activity.ledger = *complete;
  context.draft.put(std::move(activity));
  using Then = kinds::Begun::Then;
  if (begun->then == Then::answers) {
    if (context.alone()) return Progress::commit_first;
    return answer_itself(context, *context.draft.find(seq), *begun);
  }
  return context.alone() ? Progress::commit_first : acknowledge(context);
}

}  // namespace

Result<Activity> open_instance(const Context& context, std::uint32_t node, const ledger::Dimensions& at,
                               std::optional<ActivitySeq> parent) {
  Activity activity;
  activity.seq = context.draft.next_activity();
  activity.node = node;
  activity.at = at;
  activity.parent = parent;
  activity.opened_at = context.options.now;
  const auto entered = activity.ledger.with_leg1_attempt();
  if (!entered) return entered.error();
  activity.ledger = *entered;
  return activity;
}

Progress leg1(Context& context, const Transition& transition) {
  const Delivery& delivery = context.delivery;
  // A message that this bundle itself passes on is new: it cannot have been entered before.
  const Activity* known =
      context.stored() ? context.draft.find(transition.node, transition.at, transition.parent) : nullptr;
  const bool complete = known != nullptr && known->ledger.has(Mark::leg1_complete);
  const bool goes_on = complete && context.draft.find_message(context.guid()) != nullptr;
  if (is_closed(context.draft.status()) && !goes_on) return acknowledge(context);
  if (context.must_count()) {
    if (count_reentry(context) == Progress::parked) return Progress::parked;
    return enter(context, transition, known);
  }
  if (known != nullptr && known->status == ActivityStatus::skipped) return acknowledge(context);
  if (!complete && kinds::is_called_off(context, transition.node, transition.at)) {
    auto opened = known != nullptr ? Result<Activity>(*known)
                                   : open_instance(context, transition.node, transition.at, transition.parent);
    return opened ? skip(context, std::move(*opened)) : park(context, opened.error());
  }
  if (complete) {
    if (!is_its_own_answer(context, *known)) return acknowledge(context);
    const auto again = kinds::begin_again(context, *known);
    return again ? answer_itself(context, *known, *again) : park(context, again.error());
  }
  if (!delivery.entered) {
    if (context.alone() || known != nullptr) return enter(context, transition, known);
    auto opened = open_instance(context, transition.node, transition.at, transition.parent);
    if (!opened) return park(context, opened.error());
    // Kinds write rows that refer to it (a timer, a work item): its row comes first.
    return begin(context, transition, std::move(*opened));
  }
  return begin(context, transition, *known);
}

}  // namespace pawl::core
