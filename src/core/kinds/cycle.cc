// A cycle: hands its obligation to its pivot, which begins another round in a new plane.
#include "core/kinds/kinds.h"

namespace pawl::core::kinds {

Result<Begun> begin_cycle(Context& context, Activity& activity) {
  const std::uint32_t aim = *context.node(activity).aim;
  const Activity* pivot = context.draft.find(aim, activity.at.prefix(context.node(aim).depth).in_plane(0));
  if (pivot == nullptr) return Error{ErrorCode::corrupt, "a cycle without its pivot"};
  auto data = context.graph.program()->input(sight_of(context, activity));
  if (!data) return data.error();
  context.pass_on(Message{context.guid().derive(Guid::Purpose::round, 0), Reenter{pivot->seq, std::move(*data)}});
  activity.status = ActivityStatus::completed;
  activity.code = 200;
  activity.closed_at = context.options.now;
  return Begun{Begun::Then::ends, {}};
}

Progress reenter(Context& context, const Reenter& message) {
  if (context.must_count()) return count_reentry(context);
  return leg2(context,
              Answer{message.pivot, ReplyStatus::success, 200, message.data, Answer::Role::round, Speaker::cycle});
}

}  // namespace pawl::core::kinds
