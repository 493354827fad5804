// A hook: sleeps, waits for a signal, waits for whichever comes first, or does not wait. The first message to conclude
// it wins; the other one finds it concluded and changes nothing. A signal that came second is not lost: its mailbox
// keeps it until the hook reports it taken or withdraws its registration (mailbox_state.h).
#include "base/quote.h"
#include "core/kinds/kinds.h"

namespace pawl::core::kinds {

namespace {
constexpr std::int32_t code_timeout = 596;
}

Result<Begun> begin_hook(Context& context, Activity& activity, const Transition& transition) {
  const Program* program = context.graph.program();
  if (program == nullptr) return Begun{Begun::Then::answers, transition.input};
  const auto wait = program->wait(sight_of(context, activity));
  if (!wait) return wait.error();
  if (!wait->sleep && !wait->mailbox) return Begun{Begun::Then::answers, Payload("{}")};
  Draft& draft = context.draft;
  HookState state;
  state.request = context.guid();
  if (wait->mailbox) {
    state.mailbox = wait->mailbox;
    draft.send(Envelope{*wait->mailbox, Message{state.registration(), Register{draft.base().job.run, activity.seq}}});
  }
  if (wait->sleep) {
    state.wakes_at = context.options.now + *wait->sleep;
    draft.put_message(Message{state.sleep_timer(), TimeUp{activity.seq, TimeUp::What::sleep}}, state.wakes_at);
  }
  activity.state = encode(state);
  return Begun{};
}

Progress resume(Context& context, const Resume& message) {
  if (context.must_count()) return count_reentry(context);
  return leg2(context, Answer{message.activity, message.status, message.code, message.data, Answer::Role::answer,
                              Speaker::signal});
}

void tell_taken(Context& context, const Activity& hook) {
  const auto state = decode_state<HookState>(hook.state.view());
  if (!state || !state->mailbox) return;
  context.draft.send(Envelope{*state->mailbox, Message{context.guid().derive(Guid::Purpose::taken, 0),
                                                       Taken{state->registration(), context.guid()}}});
}

// A sleep is over, a waiting activity timed out, or the pause before an await's next child is over.
Progress time_up(Context& context, const TimeUp& message) {
  if (context.must_count()) return count_reentry(context);
  static const Payload nothing("{}");
  if (message.what == TimeUp::What::retry) return start_again(context, message.activity);
  if (message.what == TimeUp::What::sleep)
    return leg2(context,
                Answer{message.activity, ReplyStatus::success, 200, nothing, Answer::Role::answer, Speaker::sleep});
  static const Payload words(json_quoted("it took longer than its timeout"));
  return leg2(context, Answer{message.activity, ReplyStatus::error, code_timeout, words});
}

}  // namespace pawl::core::kinds
