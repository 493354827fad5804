// A signal: sent to the mailboxes of its topic in the same commit; then the activity is done. A signal to all jobs with
// a label is sent page by page, one commit each. The message that asks for the next page is the cursor, so a crash
// makes no job receive it twice and leaves no job out. A job that begins or ends meanwhile may or may not receive it.
#include "base/format.h"
#include "core/kinds/kinds.h"

namespace pawl::core::kinds {

namespace {

void send_to(Context& context, Program::Telling& telling, const Guid& cause) {
  for (std::size_t i = 0; i < telling.to.size(); ++i)
    context.draft.send(Envelope{std::move(telling.to[i]), Message{cause.derive(Guid::Purpose::request, i),
                                                                  Signal{telling.data, telling.status, telling.code}}});
}

// The page that the engine read. Message names are derived from each job's run id.
Status tell_page(Context& context, const Activity& activity, const Expand& message, const Page& page) {
  for (const auto& [run, id] : page.jobs) {
    auto telling = context.graph.program()->tell(sight_of(context, activity), message.topic, message.data, id);
    if (!telling) return telling.error();
    telling->status = message.status;
    telling->code = message.code;
    const Guid cause = context.guid().derive(Guid::Purpose::told, run.raw());
    send_to(context, *telling, cause);
    if (message.scrub)
      context.draft.send(Envelope{run, Message{cause.derive(Guid::Purpose::asked, 0), Unlabel{message.label}}});
  }
  return {};
}

}  // namespace

Result<Begun> begin_signal(Context& context, Activity& activity) {
  auto telling = context.graph.program()->signal(sight_of(context, activity));
  if (!telling) return telling.error();
  if (!telling->all) {
    send_to(context, *telling, context.guid());
    return Begun{Begun::Then::answers, Payload("{}")};
  }
  activity.state = encode(WaitState{context.guid(), Instant()});
  Expand first;
  first.activity = activity.seq;
  first.graph = std::move(telling->all->graph);
  first.label = std::move(telling->all->label);
  first.scrub = telling->all->scrub;
  first.topic = std::move(telling->all->topic);
  first.data = std::move(telling->data);
  first.status = telling->status;
  first.code = telling->code;
  context.draft.put_message(Message{context.guid().derive(Guid::Purpose::page, 0), std::move(first)});
  return Begun{};
}

Progress expand(Context& context, const Expand& message) {
  Draft& draft = context.draft;
  const Activity* activity = draft.find(message.activity);
  const bool goes_on = draft.find_message(context.guid()) != nullptr;
  if (activity == nullptr || (is_closed(draft.status()) && !goes_on)) return acknowledge(context);
  if (context.must_count()) return count_reentry(context);
  std::uint64_t told = message.told;
  if (!goes_on) {
    if (activity->state.empty()) return acknowledge(context);  // its timeout has answered it
    const auto& page = context.delivery.page;
    if (!page) return Progress::stays;  // the engine could not read the page yet: it brings the message again
    const auto sent = tell_page(context, *activity, message, *page);
    if (!sent) return park(context, sent.error());
    told += page->jobs.size();
    if (!page->last) {
      Expand next = message;
      next.after = page->jobs.back().first;
      next.page += 1;
      next.told = told;
      const Guid request = decode_state<WaitState>(activity->state.view())->request;
      draft.put_message(Message{request.derive(Guid::Purpose::page, next.page), std::move(next)});
      return acknowledge(context);
    }
  }
  const Payload count(format("{{\"signalled\":{}}}", told));
  return leg2(context, Answer{message.activity, ReplyStatus::success, 200, count});
}

Progress unlabel(Context& context, const Unlabel& message) {
  if (context.must_count()) return count_reentry(context);
  context.draft.drop_label(message.label);
  return acknowledge(context);
}

}  // namespace pawl::core::kinds
