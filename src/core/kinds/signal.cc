// A signal: told to the mailboxes of its topic in the same commit, and done.
#include "core/kinds/kinds.h"

namespace pawl::core::kinds {

Result<Begun> begin_signal(Context& context, Activity& activity) {
  auto telling = context.graph.program()->signal(sight_of(context, activity));
  if (!telling) return telling.error();
  for (std::size_t i = 0; i < telling->to.size(); ++i)
    context.draft.send(Envelope{std::move(telling->to[i]),
                                Message{context.guid().derive(Guid::Purpose::request, i),
                                        Signal{telling->data, telling->status, telling->code}}});
  return Begun{Begun::Then::answers, Payload("{}")};
}

}  // namespace pawl::core::kinds
