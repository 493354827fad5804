// A worker's answer. Alone (no fusion) the answer is stored and its work item given back before any step
// runs, so that a crash between the steps finds the answer again; fused, one commit holds it all.
#include "core/step.h"

namespace pawl::core {

namespace {

bool is_final(const Response& response) { return response.status != ReplyStatus::pending; }

// A stale worker's answer: somebody else was given the item since.
bool stale(const WorkItem& item, const Response& response) { return item.token != response.token; }

}  // namespace

Progress respond(Context& context, const Response& response) {
  Draft& draft = context.draft;
  if (context.delivery.origin == Origin::unstored) {
    const WorkItem* item = draft.find_work(response.activity);
    if (!draft.active() || item == nullptr || stale(*item, response)) return Progress::finished;
    if (context.alone()) {
      draft.put_message(context.delivery.message);
      if (is_final(response)) draft.drop_work(*item);
      return Progress::finished;
    }
    if (is_final(response)) draft.drop_work(*item);
  } else if (context.delivery.origin == Origin::loaded && !context.delivery.entered) {
    return count_reentry(context);
  }
  return leg2(context, Answer{response.activity, response.status, response.code, response.data});
}

}  // namespace pawl::core
