// An await: starts another job in the same commit and waits for its end, unless the graph tells it not to. A child that
// fails is replaced by another one as long as the activity's `retry` allows it. One commit takes the child's end,
// begins the pause and increases the count; no message is entered, so the ledger does not show it.
#include "base/format.h"
#include "base/limits.h"
#include "base/quote.h"
#include "core/child_name.h"
#include "core/kinds/kinds.h"
#include "core/retry.h"

namespace pawl::core::kinds {

namespace {

// The first child has the id that its graph gives it, or one that is derived from the parent's. That job stays, so the
// jobs that replace it have a number added.
JobId name_of_child(const Context& context, const Activity& activity, const Program::Child& child,
                    const AwaitState& state) {
  std::string name =
      child.id ? child.id->raw() : child_name(context.draft.base().job.id, context.node(activity).name, activity.at);
  if (state.failed() > 0) name += format("/try.{}", state.failed() + 1);
  if (name.size() > limits::name_bytes_max)
    name = format("child/{}",
                  keyed(context.draft.base().job.secret.raw(), SecretUse::child_name, state.child_request()).text());
  return JobId(std::move(name));
}

// Messages of a child that was replaced are ignored.
bool speaks_for(const AwaitState& state, const Guid& word) {
  if (!state.tries) return true;
  return !state.waits_to_try() && is_word_of(state.child_request(), word);
}

struct Started {
  JobId id;
  bool awaits;
};
Result<Started> start_child(Context& context, const Activity& activity, const AwaitState& state) {
  const Program& program = *context.graph.program();
  const Sight sight = sight_of(context, activity);
  auto input = program.input(sight);
  if (!input) return input.error();
  const auto child = program.child(sight, *input);
  if (!child) return child.error();
  *input = with_trace(std::move(*input), context.draft.trace());
  const JobRow& job = context.draft.base().job;
  // An await that has waited once continues to wait until the end.
  Started started{name_of_child(context, activity, *child, state), child->awaits || state.failed() > 0};
  const Guid request = state.child_request();
  context.draft.send(Envelope{JobKey{job.name_space, started.id},
                              Message{request, StartChild{child->graph, std::move(*input),
                                                          ParentLink{job.run, activity.seq, request, started.awaits},
                                                          job.priority, child_secret(job.secret, request)}}});
  return started;
}

// None: the attempts are used up, and the error is the answer.
std::optional<Instant> next_child_at(const Context& context, const Activity& activity, const AwaitState& state,
                                     const Answer& answer) {
  const Policy& policy = context.node(activity).policy;
  if (!is_retryable(policy, answer.status, answer.code)) return std::nullopt;
  const Tried tried{state.request, state.failed() + 1, activity.opened_at, state.times_out_at};
  return next_try(policy.retry.rule_for(answer.code), tried, context.draft.redrives(), context.options.now);
}

// Handles a child's message that no leg 2 has taken yet. None: it is an answer.
std::optional<Progress> take_child_answer(Context& context, const Answer& answer) {
  Draft& draft = context.draft;
  const Activity* known = draft.find(answer.activity);
  const bool waits = draft.active() && known != nullptr && known->status == ActivityStatus::open;
  if (!waits) return std::nullopt;
  auto state = decode_state<AwaitState>(known->state.view());
  if (!state) return park(context, state.error());
  if (!speaks_for(*state, context.guid())) return acknowledge(context);
  if (!is_error(answer.status)) return std::nullopt;
  const auto at = next_child_at(context, *known, *state, answer);
  if (!at) return std::nullopt;
  state->tries = AwaitState::Tries{state->failed() + 1, *at};
  Activity activity = *known;
  activity.state = encode(*state);
  draft.put_message(Message{state->retry_timer(), TimeUp{activity.seq, TimeUp::What::retry}}, *at);
  draft.put(std::move(activity));
  return acknowledge(context);
}

}  // namespace

Result<Begun> begin_await(Context& context, Activity& activity, const Transition&) {
  AwaitState state;
  state.request = context.guid();
  // The children of an earlier run have their ids: this one gets the next.
  if (const Carried* known = context.draft.carried(activity.node, activity.at); known != nullptr && known->failed > 0)
    state.tries = AwaitState::Tries{known->failed, Instant()};
  auto started = start_child(context, activity, state);
  if (!started) return started.error();
  state.child = started->id.raw();
  if (!started->awaits) state.request = Guid{};  // its end is not awaited
  activity.state = encode(state);
  return started->awaits ? Begun{} : Begun{Begun::Then::answers, unawaited(state)};
}

Payload unawaited(const AwaitState& state) { return Payload("{\"job_id\":" + json_quoted(state.child) + "}"); }

Payload what_stays(const Payload& state) {
  if (state.empty()) return {};
  const auto before = decode_kind_state(state.view());
  if (before && std::holds_alternative<WorkState>(*before)) return state;
  const auto* await = before ? std::get_if<AwaitState>(&*before) : nullptr;
  if (await == nullptr || await->child.empty()) return {};
  AwaitState kept;
  kept.child = await->child;
  return encode(kept);
}

Progress child_done(Context& context, const ChildDone& message) {
  if (context.must_count()) return count_reentry(context);
  const Answer answer{message.activity, message.status, message.code, message.data};
  if (context.draft.find_message(context.guid()) == nullptr)
    if (const auto taken = take_child_answer(context, answer)) return *taken;
  return leg2(context, answer);
}

Progress start_again(Context& context, ActivitySeq await) {
  Draft& draft = context.draft;
  const Activity* known = draft.find(await);
  const bool waits = draft.active() && known != nullptr && known->status == ActivityStatus::open;
  if (!waits) return acknowledge(context);
  auto state = decode_state<AwaitState>(known->state.view());
  if (!state) return park(context, state.error());
  if (!state->waits_to_try() || state->retry_timer() != context.guid()) return acknowledge(context);
  Activity activity = *known;
  auto started = start_child(context, activity, *state);
  if (!started) return park(context, started.error());
  state->tries->again_at = Instant();
  state->child = started->id.raw();
  activity.state = encode(*state);
  draft.put(std::move(activity));
  return acknowledge(context);
}

}  // namespace pawl::core::kinds
