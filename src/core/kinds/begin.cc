// How each kind begins, and what all kinds that wait have in common: a timeout, and cancelling the wait.
#include "core/child_name.h"
#include "core/kinds/kinds.h"

namespace pawl::core::kinds {

namespace {

Result<Begun> begin_kind(Context& context, Activity& activity, const Transition& transition) {
  switch (context.node(activity).kind) {
    case Graph::Kind::trigger:
      return Error{ErrorCode::corrupt, "a transition leads to the trigger"};
    case Graph::Kind::worker:
      return begin_worker(context, activity, transition);
    case Graph::Kind::await:
      return begin_await(context, activity, transition);
    case Graph::Kind::hook:
      return begin_hook(context, activity, transition);
    case Graph::Kind::signal:
      return begin_signal(context, activity);
    case Graph::Kind::cycle:
      return begin_cycle(context, activity);
    case Graph::Kind::interrupt:
      return begin_interrupt(context, activity);
    case Graph::Kind::join:
      return begin_join(context, activity);
    case Graph::Kind::map:
      return begin_map(context, activity);
  }
  return Error{ErrorCode::corrupt, "an activity of no kind"};
}

// A worker's timeout is stored in its work item; every other kind that waits has its own timer.
Status set_timeout(Context& context, Activity& activity) {
  if (context.node(activity).kind == Graph::Kind::worker) return {};
  const auto timeout = context.graph.program()->timeout(sight_of(context, activity));
  if (!timeout) return timeout.error();
  if (!*timeout) return {};
  auto state = decode_kind_state(activity.state.view());
  if (!state) return state.error();
  if (std::holds_alternative<std::monostate>(*state)) *state = WaitState{};
  WaitState& wait = *wait_of(*state);
  wait.request = context.guid();
  wait.times_out_at = context.options.now + **timeout;
  activity.state = encode(*state);
  context.draft.put_message(Message{wait.timeout_timer(), TimeUp{activity.seq, TimeUp::What::timeout}},
                            wait.times_out_at);
  return {};
}

}  // namespace

std::optional<Begun> carried_answer(const Context& context, const Activity& activity) {
  const Carried* known = context.draft.carried(activity.node, activity.at);
  if (known == nullptr || !known->answered) return std::nullopt;
  return Begun{Begun::Then::answers, known->data, known->status, known->code, known->speaker};
}

Result<Begun> begin(Context& context, Activity& activity, const Transition& transition) {
  if (auto known = carried_answer(context, activity)) {
    const std::string& child = context.draft.carried(activity.node, activity.at)->child;
    AwaitState state;
    state.child = child;
    if (!child.empty()) activity.state = encode(state);
    return std::move(*known);
  }
  auto begun = begin_kind(context, activity, transition);
  if (!begun || begun->then != Begun::Then::waits || context.graph.program() == nullptr) return begun;
  const auto timed = set_timeout(context, activity);
  if (!timed) return timed.error();
  return begun;
}

Result<Begun> begin_again(Context& context, const Activity& activity) {
  if (auto known = carried_answer(context, activity)) return std::move(*known);
  const auto says = [](Payload data) { return Begun{Begun::Then::answers, std::move(data)}; };
  if (context.node(activity).kind == Graph::Kind::await) {
    const auto state = decode_state<AwaitState>(activity.state.view());
    if (!state) return state.error();
    return says(state->child.empty() ? Payload("{}") : unawaited(*state));
  }
  if (context.node(activity).kind != Graph::Kind::join) return says(Payload("{}"));
  Activity copy = activity;
  return begin_join(context, copy);
}

void call_off(Context& context, const Activity& activity, bool cancel_child, bool registered) {
  if (activity.state.empty()) return;
  const auto state = decode_kind_state(activity.state.view());
  if (!state) return;
  Draft& draft = context.draft;
  // The current message may be one of these timers: it stays until its last step is done.
  const auto drop_timer = [&](const Guid& timer) {
    if (timer != context.guid()) draft.consume(timer);
  };
  const WaitState* wait = wait_of(*state);
  if (wait != nullptr && wait->times_out_at != Instant()) drop_timer(wait->timeout_timer());
  std::visit(
      Overloaded{
          [&](const HookState& hook) {
            if (hook.wakes_at != Instant()) drop_timer(hook.sleep_timer());
            if (hook.mailbox && registered)
              draft.send(Envelope{
                  *hook.mailbox, Message{hook.request.derive(Guid::Purpose::asked, 0), Withdraw{hook.registration()}}});
          },
          [&](const AwaitState& await) {
            if (await.waits_to_try()) return drop_timer(await.retry_timer());
            if (cancel_child && await.is_awaited() && !await.child.empty())
              draft.send(Envelope{JobKey{draft.base().job.name_space, JobId(await.child)},
                                  Message{end_of_child(await.child_request()),
                                          EndJob{draft.base().job.run, 410, "its parent ended", true, true, {}}}});
          },
          each_of<std::monostate, WaitState, JoinState, MapState, WorkState>([] {}),
      },
      *state);
}

}  // namespace pawl::core::kinds
