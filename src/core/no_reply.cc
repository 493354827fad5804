// Work that failed or got no reply: it is attempted again, its effect is unknown, or it is over.
#include "base/failure_words.h"
#include "base/format.h"
#include "base/limits.h"
#include "base/utf8.h"
#include "core/children.h"
#include "core/retry.h"
#include "core/step.h"

namespace pawl::core {

namespace {

constexpr std::int32_t code_timeout = 408;
constexpr std::int32_t code_graph_timeout = 596;  // of an activity's `timeout` in the graph language

const Policy& policy_of(const Context& context, ActivitySeq activity) {
  return context.graph.nodes()[context.draft.find(activity)->node].policy;
}

// The oldest one gives its place to the newest. An attempt that cannot be recorded is still counted.
void record_attempt(Context& context, Activity activity, const WorkLife& life) {
  auto state = decode_state<WorkState>(activity.state.view());
  if (!state) return;
  auto& attempts = state->attempts;
  if (attempts.size() >= limits::attempts_kept) attempts.erase(attempts.begin());
  attempts.push_back({context.options.now, life.failure_code, kept_text(life.failure, limits::attempt_bytes_max)});
  activity.state = encode(*state);
  context.draft.put(std::move(activity));
}

WorkLife after_failure(const WorkItem& item, const Answer& answer) {
  WorkLife life = item.life;
  life.unknown = false;
  life.attempt_by = Instant();
  life.heartbeat_by = Instant();
  life.failures += 1;
  life.failure_code = answer.code;
  life.failure = kept_text(failure_words(answer.data.view()), limits::failure_bytes_max);
  return life;
}

void give_back(Context& context, const WorkItem& item, WorkLife life, Instant at) {
  if (life.queue_timeout.count() != 0) life.queue_by = at + life.queue_timeout;
  context.draft.change_work(item, ChangeWork{.release = true, .visible_at = at, .life = std::move(life)});
}

// It is unknown whether the attempt had an effect. A reply under its token still settles it.
Progress doubt(Context& context, const WorkItem& item) {
  WorkLife life = item.life;
  life.attempt_by = Instant();
  life.heartbeat_by = Instant();
  if (policy_of(context, item.activity).when_unknown == WhenUnknown::retry) {
    give_back(context, item, std::move(life), context.options.now);
  } else {
    life.unknown = true;
    context.draft.change_work(item,
                              ChangeWork{.release = false, .visible_at = item.visible_at, .life = std::move(life)});
  }
  return Progress::finished;
}

// For an undo activity: the name of the activity that it undoes.
std::string name_of_done(const Context& context, const Activity& activity) {
  const Activity* done =
      context.node(activity).is_undo && activity.parent ? context.draft.find(*activity.parent) : &activity;
  return context.node(*done).name.raw();
}

// Whether a transition catches this error.
bool is_caught(const Context& context, const Activity& activity, const Answer& answer) {
  const Program* program = context.graph.program();
  if (program == nullptr) return any_fires(context.node(activity), answer.status, answer.code);
  Sight sight = sight_of(context, activity);
  sight.output = &answer.data;
  sight.status = answer.status;
  sight.code = answer.code;
  const auto fired = program->fired(sight);
  return !fired || !fired->empty();  // an expression that fails parks the job when it is evaluated again
}

Payload words_for(const NoReply& message) {
  return Payload(format("\"no answer: its {} timeout ran out\"", name_of(message.why)));
}

}  // namespace

std::optional<Retry> own_retry(const Context& context, const WorkItem& item) {
  const Program* program = context.graph.program();
  return program == nullptr ? std::nullopt : program->retry(item.input);
}

std::optional<Progress> try_again(Context& context, const WorkItem& failed, const Answer& answer) {
  // Copies: what the draft finds moves with its next write.
  const WorkItem item = failed;
  const Activity activity = *context.draft.find(item.activity);
  const Graph::Node& node = context.graph.nodes()[activity.node];
  const std::optional<Retry> own = own_retry(context, item);
  const bool retries =
      own ? answer.status != ReplyStatus::fatal : is_retryable(node.policy, answer.status, answer.code);
  if (!retries && !node.is_undo) return std::nullopt;
  const Retry& rule = own ? *own : node.policy.retry.rule_for(answer.code);
  const Tried tried{item.request, item.life.failures + 1, activity.opened_at, item.life.deadline};
  const auto at =
      retries ? next_try(rule, tried, context.draft.redrives(), context.options.now) : std::optional<Instant>();
  // A failed undo needs a person.
  const bool parks =
      node.is_undo || (rule.when_exhausted() == WhenExhausted::park && !at && !is_caught(context, activity, answer));
  if (!at && !parks) return std::nullopt;
  WorkLife life = after_failure(item, answer);
  if (!at && node.is_undo) life.deadline = Instant();  // the redrive may come after the deadline
  if (context.stored()) context.draft.consume(context.delivery.message.guid);
  record_attempt(context, activity, life);
  give_back(context, item, life, at ? *at : context.options.now);
  if (!at)
    context.draft.park(format("{} {} failed {} times, the last time with code {}: {}",
                              node.is_undo ? "what undoes" : "activity", name_of_done(context, activity), life.failures,
                              life.failure_code, life.failure));
  return Progress::finished;
}

Progress conclude_unstored(Context& context, const WorkItem& item, const Answer& answer, bool final) {
  Draft& draft = context.draft;
  if (context.alone()) {
    Message stored = context.delivery.message;
    // the code that it was taken as
    if (auto* reply = std::get_if<Reply>(&stored.body)) reply->code = answer.code;
    draft.put_message(std::move(stored));
  }
  if (final) draft.drop_work(item);
  return context.alone() ? Progress::finished : leg2(context, answer);
}

Progress no_reply(Context& context, const NoReply& message) {
  Draft& draft = context.draft;
  const Payload words = words_for(message);
  const bool of_graph = message.why == NoReply::Why::total && context.graph.program() != nullptr;
  const Answer answer{message.activity, ReplyStatus::error, of_graph ? code_graph_timeout : code_timeout, words};
  if (context.stored()) {  // it was decided to be final, and its item is gone
    if (context.delivery.origin == Origin::loaded && !context.delivery.entered) return count_reentry(context);
    return leg2(context, answer);
  }
  const WorkItem* item = draft.find_work(message.activity);
  if (!draft.active() || item == nullptr || item->token != message.token) return Progress::finished;
  const bool run_ended = message.why == NoReply::Why::attempt || message.why == NoReply::Why::heartbeat;
  if (item->life.at_most_once && (run_ended || message.why == NoReply::Why::lost))
    return item->life.unknown ? Progress::finished : doubt(context, *item);
  if (message.why == NoReply::Why::lost) return Progress::finished;  // at least once: it is handed out again
  if (run_ended || context.node(*draft.find(message.activity)).is_undo)
    if (const auto decided = try_again(context, *item, answer)) return *decided;
  return conclude_unstored(context, *item, answer, true);
}

// What a person or a probe found out about an effect that was unknown.
Progress settle(Context& context, const Verdict& verdict) {
  Draft& draft = context.draft;
  if (context.delivery.origin == Origin::loaded && !context.delivery.entered) return count_reentry(context);
  const ReplyStatus status = verdict.kind == Verdict::Kind::failed ? ReplyStatus::fatal : ReplyStatus::success;
  const Answer answer{verdict.activity, status, verdict.code, verdict.data};
  const WorkItem* item = draft.find_work(verdict.activity);
  const bool settles = verdict.kind != Verdict::Kind::retry;
  // The commit that stored this verdict removed its item, or a reply that came meanwhile did.
  if (item == nullptr || !draft.active())
    return settles && context.stored() ? leg2(context, answer) : acknowledge(context);
  if (!item->life.unknown) return acknowledge(context);
  if (settles) return context.stored() ? leg2(context, answer) : conclude_unstored(context, *item, answer, true);
  WorkLife life = item->life;
  life.unknown = false;
  give_back(context, *item, std::move(life), context.options.now);
  return acknowledge(context);
}

}  // namespace pawl::core
