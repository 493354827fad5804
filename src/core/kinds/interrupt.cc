// An interrupt: ends this job in the commit of its leg 1, or sends the request to another job.
#include "core/kinds/kinds.h"

namespace pawl::core::kinds {

namespace {

using Mark = ledger::ActivityLedger::Mark;

Status end_this(Context& context, Activity& activity, const Program::Ending& ending) {
  Draft& draft = context.draft;
  const auto complete = activity.ledger.with(Mark::leg1_complete);
  if (!complete) return complete.error();
  activity.ledger = *complete;
  // The result of its maps is the last change of the job's data.
  static const Payload nothing("{}");
  Sight sight = sight_of(context, activity);
  sight.output = &nothing;
  sight.code = ending.code;
  auto worked = context.graph.program()->work(sight);
  if (!worked) return worked.error();
  if (worked->data) draft.share(std::move(*worked->data));
  activity.output = std::move(worked->output);
  activity.status = ActivityStatus::completed;
  activity.code = ending.code;
  activity.closed_at = context.options.now;
  draft.put(activity);
  draft.fail_with(ending.throws ? ending.code : 0);
  if (ending.throws) draft.fail_reason(ending.reason.empty() ? "interrupted by its own graph" : ending.reason);
  if (ending.keep) draft.keep_instead(*ending.keep);
  return close_through_trigger(context, JobStatus::interrupted, ending.descend);
}

}  // namespace

Result<Begun> begin_interrupt(Context& context, Activity& activity) {
  const auto ending = context.graph.program()->ending(sight_of(context, activity));
  if (!ending) return ending.error();
  if (!ending->target) {
    const auto ended = end_this(context, activity, *ending);
    if (!ended) return ended.error();
    return Begun{Begun::Then::ends, {}};
  }
  const JobRow& job = context.draft.base().job;
  context.draft.send(
      Envelope{JobKey{job.name_space, *ending->target},
               Message{context.guid().derive(Guid::Purpose::request, 0),
                       EndJob{{}, ending->code, ending->reason, ending->throws, ending->descend, ending->keep}}});
  return Begun{Begun::Then::answers, Payload("{}")};
}

}  // namespace pawl::core::kinds
