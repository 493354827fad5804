// A worker: its request is a work item; a worker that serves the topic replies to it.
#include "core/kinds/kinds.h"

namespace pawl::core::kinds {

Result<WorkItem> work_of(Context& context, const Activity& activity, const Guid& request, const Payload& given) {
  const Graph::Node& node = context.node(activity);
  const Policy& policy = node.policy;
  const Instant now = context.options.now;
  WorkItem item;
  const JobRow& job = context.draft.base().job;
  item.run = job.run;
  item.activity = activity.seq;
  item.topic = node.topic;
  item.request = request;
  item.plain_key = !is_set(job.secret);
  item.input = given;
  item.priority = job.priority + policy.priority;
  item.life.queue_timeout = policy.timeouts.queue();
  item.life.attempt_timeout = policy.timeouts.attempt();
  item.life.heartbeat_timeout = policy.timeouts.heartbeat();
  if (policy.timeouts.total().count() != 0) item.life.deadline = now + policy.timeouts.total();
  item.life.at_most_once = policy.guarantee == Guarantee::at_most_once;
  if (policy.timeouts.queue().count() != 0) item.life.queue_by = now + policy.timeouts.queue();
  item.life.trace = context.draft.trace();
  if (const Program* program = context.graph.program()) {
    const Sight sight = sight_of(context, activity);
    auto input = program->input(sight);
    if (!input) return input.error();
    item.input = std::move(*input);
    if (item.topic.raw().empty()) {
      auto topic = program->topic(sight);
      if (!topic) return topic.error();
      item.topic = std::move(*topic);
    }
    const auto timeout = program->timeout(sight);
    if (!timeout) return timeout.error();
    if (*timeout) item.life.deadline = now + **timeout;
  }
  return item;
}

Result<Begun> begin_worker(Context& context, Activity& activity, const Transition& transition) {
  // Work that is asked for again has the key that it had: whoever must not act twice knows it by that.
  const Carried* known = context.draft.carried(activity.node, activity.at);
  const Guid request = known != nullptr && known->request != Guid{}
                           ? known->request
                           : work_request(context.draft.base().job.secret, context.guid());
  auto item = work_of(context, activity, request, transition.input);
  if (!item) return item.error();
  context.draft.put_work(std::move(*item));
  return Begun{};
}

}  // namespace pawl::core::kinds
