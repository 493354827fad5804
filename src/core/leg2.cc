// Leg 2: enter, work, spawn, finish, acknowledge (seed 002, sections 7-14). The message ledger is read
// first: it alone says which steps are done (rule C), so a crash between any two steps resumes at the
// next one.
#include "base/format.h"
#include "base/seeded_bug.h"
#include "core/children.h"
#include "core/step.h"

namespace pawl::core {

namespace {

using Mark = ledger::ActivityLedger::Mark;
using Step = ledger::MessageLedger::Step;

bool is_concluding(const Answer& answer) { return answer.status != ReplyStatus::pending; }

std::vector<Transition> transitions(const Context& context, const Answer& answer, const Activity& activity,
                                    const ledger::MessageLedger& message) {
  std::vector<Transition> children;
  const std::uint32_t shift =
      seeded(SeededBug::plane_from_redeliveries) ? context.delivery.redeliveries : 0;
  for (Child& child : children_of(context.graph, activity.node, activity.at, message.plane() + shift, answer.status,
                                  answer.code))
    children.push_back(Transition{child.node, std::move(child.at), activity.seq, answer.data});
  return children;
}

// Only the concluding message marks the activity (DESIGN 3.1 b).
Status mark(Context& context, MessageRecord record, Activity activity, const Answer& answer, Step step, Mark activity_mark) {
  const auto message = record.ledger.with(step);
  if (!message) return message.error();
  record.ledger = *message;
  if (is_concluding(answer)) {
    const auto marked = activity.ledger.with(activity_mark);
    if (!marked) return marked.error();
    activity.ledger = *marked;
    context.draft.put(std::move(activity));
  }
  context.draft.put(std::move(record));
  return {};
}

// The entry: a new guid takes the next ordinal (DESIGN 3.1 e).
Status enter(Context& context, const Answer& answer, Activity activity) {
  const auto entered = activity.ledger.with_entry();
  if (!entered) return entered.error();
  const auto opened = ledger::MessageLedger::opened_by(*entered);
  if (!opened) return opened.error();
  activity.ledger = *entered;
  context.draft.put(std::move(activity));
  context.draft.put(MessageRecord{context.delivery.message.guid, answer.activity, *opened});
  return {};
}

// Step 1. A concluding message claims its activity with it.
Status work(Context& context, const Answer& answer) {
  Activity activity = *context.draft.find(answer.activity);
  if (is_concluding(answer)) {
    activity.output = answer.data;
    activity.code = answer.code;
    activity.status = is_error(answer.status) ? ActivityStatus::errored : ActivityStatus::completed;
    activity.closed_at = context.options.now;
  }
  return mark(context, *context.draft.find_message(context.delivery.message.guid), std::move(activity), answer,
              Step::work, Mark::work_done);
}

std::string describe_error(const Context& context, const Answer& answer, const Activity& activity) {
  return format("activity {} failed with code {}: {}", context.graph.nodes()[activity.node].name.raw(), answer.code,
                answer.data.view());
}

// Step 2, closing variant: nobody catches the error, so the job fails once.
Status fail(Context& context, const Answer& answer) {
  const Guid guid = context.delivery.message.guid;
  const Activity activity = *context.draft.find(answer.activity);
  const auto marked = mark(context, *context.draft.find_message(guid), activity, answer, Step::spawn, Mark::children_spawned);
  if (!marked) return marked;
  MessageRecord record = *context.draft.find_message(guid);
  const auto snapshot = record.ledger.with_job_closed();
  if (!snapshot) return snapshot.error();
  record.ledger = *snapshot;
  context.draft.put(std::move(record));
  context.draft.fail_reason(describe_error(context, answer, activity));
  context.draft.close(JobStatus::failed, context.options.now, guid);
  return {};
}

// Step 2: children, semaphore, marks and snapshot in one commit (section 12).
Status spawn(Context& context, const Answer& answer) {
  Draft& draft = context.draft;
  const Guid guid = context.delivery.message.guid;
  const Activity activity = *draft.find(answer.activity);
  MessageRecord record = *draft.find_message(guid);
  const auto children = transitions(context, answer, activity, record.ledger);
  if (children.empty() && is_error(answer.status)) return fail(context, answer);

  const auto count = static_cast<std::int64_t>(children.size()) +
                     (seeded(SeededBug::semaphore_off_by_one) && children.size() > 1 ? 1 : 0);
  const std::int64_t delta =
      is_concluding(answer) ? ledger::Semaphore::concluding(count) : ledger::Semaphore::pending(count);
  const auto semaphore = ledger::Semaphore::decode(draft.semaphore());
  if (!semaphore) return semaphore.error();
  const auto stepped = semaphore->step(delta, draft.base().job.threshold);
  if (!stepped) return stepped.error();
  const auto marked = mark(context, record, activity, answer, Step::spawn, Mark::children_spawned);
  if (!marked) return marked;

  draft.step_semaphore(delta, *stepped);
  for (std::size_t i = 0; i < children.size(); ++i) {
    if (seeded(SeededBug::lost_child) && i + 1 == children.size() && i > 0) continue;
    const Guid child = guid.derive(Guid::Purpose::transition, i);
    if (context.alone()) {
      draft.put_message(Message{child, children[i]});
    } else {
      const auto opened = open_with_work(context, children[i], child);
      if (!opened) return opened;
    }
  }
  if (stepped->threshold_hit) {
    record = *draft.find_message(guid);
    const auto snapshot = record.ledger.with_job_closed();
    if (!snapshot) return snapshot.error();
    if (!seeded(SeededBug::snapshot_missing)) record.ledger = *snapshot;
    draft.put(std::move(record));
    draft.close(JobStatus::completed, context.options.now, guid);
  }
  return {};
}

// Step 3: the job completion tasks, for the message that closed the job and only for it.
Status finish(Context& context, const Answer& answer) {
  Draft& draft = context.draft;
  std::optional<Payload> result;
  if (draft.status() == JobStatus::completed) {
    result = answer.data;
    if (const auto named = context.graph.result_of())
      for (std::uint32_t seq = draft.next_activity().raw(); seq-- > 0;)
        if (const Activity* activity = draft.find(ActivitySeq(seq)); activity->node == *named) {
          result = activity->output;
          break;
        }
  }
  const auto marked = mark(context, *draft.find_message(context.delivery.message.guid), *draft.find(answer.activity),
                           answer, Step::finish, Mark::completion_done);
  if (!marked) return marked;
  draft.finish(std::move(result));
  return {};
}

}  // namespace

Progress leg2(Context& context, const Answer& answer) {
  Draft& draft = context.draft;
  const Guid guid = context.delivery.message.guid;
  if (seeded(SeededBug::completion_refused) && !draft.active()) return acknowledge(context);
  if (draft.find_message(guid) == nullptr) {
    // A message without marks is subject to "is the job active?", by the job's state, never its semaphore.
    const Activity* activity = draft.find(answer.activity);
    const bool wanted = draft.active() && activity != nullptr && activity->ledger.has(Mark::leg1_complete) &&
                        !activity->ledger.has(Mark::work_done);
    if (!wanted) return acknowledge(context);
    const auto entered = enter(context, answer, *activity);
    if (!entered) return park(context, entered.error());
    // A concluding message claims the activity in its first transaction (DESIGN 3.1 h).
    if (context.alone() && !is_concluding(answer)) return Progress::commit_first;
  }
  if (!draft.find_message(guid)->ledger.done(Step::work)) {
    const auto worked = work(context, answer);
    if (!worked) return park(context, worked.error());
    if (context.alone()) return Progress::commit_first;
  }
  if (!draft.find_message(guid)->ledger.done(Step::spawn)) {
    // In a failed or interrupted job marks give no right to step 2 (DESIGN 3.1 g).
    if (!draft.active()) return acknowledge(context);
    const auto spawned = spawn(context, answer);
    if (!spawned) return park(context, spawned.error());
    if (context.alone()) return Progress::commit_first;
  }
  const ledger::MessageLedger message = draft.find_message(guid)->ledger;
  const bool skipped = seeded(SeededBug::step3_skipped) && context.alone();
  if (message.job_closed() && !message.done(Step::finish) && !skipped) {
    const auto finished = finish(context, answer);
    if (!finished) return park(context, finished.error());
    if (context.alone()) return Progress::commit_first;
  }
  return acknowledge(context);
}

}  // namespace pawl::core
