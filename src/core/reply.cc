// A worker's reply. Without fusion the reply is stored and its work item removed before any step runs, so that the
// reply is found again after a crash between the steps. With fusion one commit holds all of it.
#include "core/kinds/kinds.h"

namespace pawl::core {

namespace {

bool is_final(const Reply& reply) { return reply.status != ReplyStatus::pending; }

// A stale worker's reply: the item was handed to another worker since.
bool is_stale(const WorkItem& item, const Reply& reply) { return item.token != reply.token; }

}  // namespace

Progress take_reply(Context& context, const Reply& reply) {
  Draft& draft = context.draft;
  if (context.delivery.origin == Origin::loaded && !context.delivery.entered) return count_reentry(context);
  const WorkItem* item = draft.find_work(reply.activity);
  Answer answer{reply.activity, reply.status, reply.code, reply.data};
  if (!context.stored() && (!draft.active() || item == nullptr || is_stale(*item, reply))) {
    context.in_vain = true;
    return Progress::finished;
  }
  // After an error the item is still there: here it is decided whether it is attempted again.
  if (is_error(reply.status) && item != nullptr && draft.active()) {
    if (is_stale(*item, reply)) return acknowledge(context);
    if (const auto decided = try_again(context, *item, answer)) return *decided;
    if (reply.status == ReplyStatus::error && own_retry(context, *item)) answer.code = code_tries_over;
  }
  // Its work item is gone and some of its steps are done: it continues with the code that it was taken as.
  if (is_error(reply.status) && item == nullptr && draft.find_message(context.guid()) != nullptr)
    if (const Activity* activity = draft.find(reply.activity); activity->status == ActivityStatus::errored)
      answer.code = activity->code;
  if (context.stored()) return leg2(context, answer);
  return conclude_unstored(context, *item, answer, is_final(reply));
}

namespace {

constexpr std::uint32_t runs_searched_max = 64;
constexpr std::uint64_t epochs_searched_max = 1'000;

// Which attempt was given this token, by a lease (epoch 0) or by one of the lane's last owners. None: unknown; a number
// that is used again might give the same token to two attempts.
std::optional<std::uint32_t> run_of(const Guid& request, WorkToken token, Epoch now) {
  const std::uint64_t first = now.raw() > epochs_searched_max ? now.raw() - epochs_searched_max : 1;
  for (std::uint32_t run = 1; run <= runs_searched_max; ++run) {
    if (token_of(request, run) == token) return run;
    for (std::uint64_t epoch = now.raw(); epoch >= first; --epoch)
      if (token_of(request, run, Epoch(epoch)) == token) return run;
  }
  return std::nullopt;
}

// The person who resumes the job may come late: limits on the wait for a reply do not count any more.
WorkLife asked_again(WorkLife life) {
  life.unknown = false;
  life.deadline = Instant();
  life.queue_by = Instant();
  life.attempt_by = Instant();
  life.heartbeat_by = Instant();
  return life;
}

// The work item of a stored reply: it was removed when the reply came.
std::optional<WorkItem> remade(Context& context, const Activity& activity, const Reply& reply) {
  if (reply.status == ReplyStatus::pending) return std::nullopt;
  const Activity* above = activity.parent ? context.draft.find(*activity.parent) : nullptr;
  auto item = kinds::work_of(context, activity, context.guid().underive(Guid::Purpose::response_final, 0),
                             above == nullptr ? Payload() : above->output);
  if (!item || item->life.at_most_once) return std::nullopt;
  const auto run = run_of(item->request, reply.token, context.options.epoch);
  if (!run) return std::nullopt;
  item->runs = *run;
  item->life = asked_again(std::move(item->life));
  return std::move(*item);
}

}  // namespace

bool refuse(Context& context, const Reply& reply) {
  Draft& draft = context.draft;
  const Activity* activity = draft.find(reply.activity);
  const MessageRecord* record = draft.find_message(context.guid());
  const bool counts = record != nullptr && record->ledger.done(ledger::MessageLedger::Step::work);
  if (activity == nullptr || counts) return false;
  if (context.graph.program() == nullptr && !context.node(*activity).is_undo) return false;
  if (const WorkItem* item = draft.find_work(reply.activity)) {
    if (item->token != reply.token) return false;
    WorkLife life = asked_again(item->life);
    life.unknown = life.at_most_once;  // it may have acted: a person must report the effect
    draft.change_work(WorkItem(*item),
                      ChangeWork{.release = !life.at_most_once, .visible_at = {}, .life = std::move(life)});
  } else {
    auto item_again = remade(context, *activity, reply);
    if (!item_again) return false;
    draft.put_work(std::move(*item_again));
  }
  if (context.stored()) draft.consume(context.guid());
  draft.put_message(Message{context.guid().derive(Guid::Purpose::refused, draft.redrives()),
                            Refused{reply.activity, reply.status, reply.code, reply.data}});
  return true;
}

Progress keep_answer(Context& context) {
  const auto* reply = std::get_if<Reply>(&context.delivery.message.body);
  if (context.stored()) return Progress::stays;
  if (reply == nullptr) return Progress::finished;  // the engine repeats the message when the job continues
  const WorkItem* item = context.draft.find_work(reply->activity);
  context.in_vain = item == nullptr || is_stale(*item, *reply);
  if (context.in_vain) return Progress::finished;
  context.draft.put_message(context.delivery.message);
  if (is_final(*reply) && !is_error(reply->status)) context.draft.drop_work(*item);
  return Progress::finished;
}

}  // namespace pawl::core
