// A worker's answer. Alone (no fusion) the answer is stored and its work item given back before any step
// runs, so that a crash between the steps finds the answer again; fused, one commit holds it all.
#include "base/seeded_bug.h"
#include "core/step.h"

namespace pawl::core {

namespace {

bool is_final(const Response& response) { return response.status != ReplyStatus::pending; }

// A stale worker's answer: somebody else was given the item since.
bool is_stale(const WorkItem& item, const Response& response) {
  return item.token != response.token && !seeded(SeededBug::stale_try_counted);
}

}  // namespace

Progress respond(Context& context, const Response& response) {
  Draft& draft = context.draft;
  if (context.delivery.origin == Origin::loaded && !context.delivery.entered) return count_reentry(context);
  const WorkItem* item = draft.find_work(response.activity);
  const Answer answer{response.activity, response.status, response.code, response.data};
  if (!context.stored() && (!draft.active() || item == nullptr || is_stale(*item, response))) return Progress::finished;
  // An error has left its item where it was: whether it is tried again is decided here, whoever stored it.
  if (is_error(response.status) && item != nullptr && draft.active()) {
    if (is_stale(*item, response)) return acknowledge(context);
    if (const auto decided = try_again(context, *item, answer)) return *decided;
  }
  if (context.stored()) return leg2(context, answer);
  return conclude_unstored(context, *item, answer, is_final(response));
}

Progress keep_answer(Context& context) {
  const auto* response = std::get_if<Response>(&context.delivery.message.body);
  if (context.stored()) return Progress::stays;
  if (response == nullptr) return Progress::finished;  // the engine says it again when the job goes on
  const WorkItem* item = context.draft.find_work(response->activity);
  if (item == nullptr || is_stale(*item, *response)) return Progress::finished;
  if (!seeded(SeededBug::paused_answer_dropped)) context.draft.put_message(context.delivery.message);
  if (is_final(*response) && !is_error(response->status)) context.draft.drop_work(*item);
  return Progress::finished;
}

}  // namespace pawl::core
