// An await: starts another job in the same commit, and waits for its word unless it is told not to.
#include "base/format.h"
#include "base/limits.h"
#include "base/quote.h"
#include "core/child_name.h"
#include "core/kinds/kinds.h"

namespace pawl::core::kinds {

namespace {

JobId name_of_child(const Context& context, const Activity& activity) {
  std::string name = child_name(context.draft.base().job.id, context.node(activity).name, activity.at);
  if (name.size() > limits::name_bytes_max) name = format("child/{}", context.guid().text());
  return JobId(std::move(name));
}

}  // namespace

Result<Begun> begin_await(Context& context, Activity& activity, const Transition&) {
  const Program& program = *context.graph.program();
  const Sight sight = sight_of(context, activity);
  auto input = program.input(sight);
  if (!input) return input.error();
  const auto child = program.child(sight, *input);
  if (!child) return child.error();
  const JobRow& job = context.draft.base().job;
  const JobId id = child->id ? *child->id : name_of_child(context, activity);
  const Guid request = context.guid().derive(Guid::Purpose::request, 0);
  context.draft.send(Envelope{
      JobKey{job.name_space, id},
      Message{request, StartChild{child->graph, std::move(*input),
                                  ParentLink{job.run, activity.seq, request, child->awaits}, job.priority}}});
  KindState state;
  if (child->awaits) state.request = context.guid();
  state.child = id.raw();
  activity.state = encode(state);
  return child->awaits ? Begun{} : Begun{Begun::Then::answers, unawaited(state)};
}

Payload unawaited(const KindState& state) { return Payload("{\"job_id\":" + json_quoted(state.child) + "}"); }

Progress child_done(Context& context, const ChildDone& message) {
  if (context.must_count()) return count_reentry(context);
  return leg2(context, Answer{message.activity, message.status, message.code, message.data});
}

}  // namespace pawl::core::kinds
