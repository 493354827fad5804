// Leg 2: enter, work, spawn, finish, acknowledge. The message ledger is read first: only the ledger shows which steps
// are done, so after a crash between two steps the next one follows.
#include "base/failure_words.h"
#include "base/format.h"
#include "core/children.h"
#include "core/kinds/kinds.h"

namespace pawl::core {

namespace {

using Mark = ledger::ActivityLedger::Mark;
using Step = ledger::MessageLedger::Step;
using Role = Answer::Role;

// Only the concluding message marks the activity.
Status mark(Context& context, MessageRecord record, Activity activity, const Answer& answer, Step step,
            Mark activity_mark) {
  const auto message = record.ledger.with(step);
  if (!message) return message.error();
  record.ledger = *message;
  if (answer.concludes()) {
    const auto marked = activity.ledger.with(activity_mark);
    if (!marked) return marked.error();
    activity.ledger = *marked;
    context.draft.put(std::move(activity));
  }
  context.draft.put(std::move(record));
  return {};
}

// The entry: a new guid takes the next ordinal.
Status enter(Context& context, const Answer& answer, Activity activity) {
  const auto entered = activity.ledger.with_entry();
  if (!entered) return entered.error();
  const auto opened = ledger::MessageLedger::opened_by(*entered);
  if (!opened) return opened.error();
  activity.ledger = *entered;
  context.draft.put(std::move(activity));
  context.draft.put(MessageRecord{context.guid(), answer.activity, *opened, {}});
  return {};
}

// Announces the job's data so far to subscribers.
void emit(Context& context, const MessageRecord& record) {
  Draft& draft = context.draft;
  const Topic& topic = context.graph.program()->publishes();
  if (!topic.raw().empty())
    draft.announce(
        Announce{topic, Announce::What::progress, ReplyStatus::pending, 202, context.options.now, shared_data(draft)});
  const auto& parent = draft.base().job.parent;
  if (!parent || !parent->awaits) return;
  const Guid guid = word_of(parent->request, record.guid);
  draft.send(
      Envelope{parent->run, Message{guid, ChildDone{parent->activity, ReplyStatus::pending, 202, shared_data(draft)}}});
}

// Announces the end although the job continues: once.
Status persist(Context& context) {
  Draft& draft = context.draft;
  if (draft.end_announced()) return {};
  if (const auto wrong = context.graph.program()->mismatch(sight_of(context, *draft.find(ActivitySeq(0))), 200))
    return Error{ErrorCode::invalid, "persist: " + *wrong};
  const auto kept = set_keep(context);
  if (!kept) return kept;
  announce_end(context, shared_data(draft));
  draft.announce_end(shared_data(draft), context.options.now);
  return {};
}

// Step 1. A concluding message claims its activity with it.
Status work(Context& context, const Answer& answer) {
  Activity activity = *context.draft.find(answer.activity);
  MessageRecord record = *context.draft.find_message(context.guid());
  Payload output = answer.data;
  if (const Program* program = context.graph.program(); program != nullptr && answer.role != Role::item) {
    Sight sight = sight_of(context, activity, record.ledger.plane());
    sight.output = &answer.data;
    sight.status = answer.status;
    sight.code = answer.code;
    sight.speaker = answer.speaker;
    auto worked = program->work(sight);
    if (!worked) return worked.error();
    output = std::move(worked->output);
    if (worked->data) context.draft.share(std::move(*worked->data));
    for (Label& label : worked->labels) context.draft.put_label(std::move(label));
    // The run that this one goes on for was measured.
    if (activity.state.empty() || context.node(activity).kind != Graph::Kind::trigger)
      for (Measure& measure : worked->measures) context.draft.add_measure(std::move(measure));
    if (!worked->telemetry.empty() && answer.concludes())
      context.draft.note_telemetry(activity.seq, std::move(worked->telemetry));
    if (worked->emits) emit(context, record);
    if (worked->persists) {
      const auto persisted = persist(context);
      if (!persisted) return persisted;
    }
  }
  // A person may answer in the place of a signal: then its mailbox offered none.
  const bool signalled =
      answer.speaker == Speaker::signal && std::holds_alternative<Resume>(context.delivery.message.body);
  if (signalled) kinds::tell_taken(context, activity);
  if (answer.concludes()) {
    activity.output = std::move(output);
    activity.code = answer.code;
    activity.status = is_error(answer.status) ? ActivityStatus::errored : ActivityStatus::completed;
    activity.closed_at = context.options.now;
    kinds::call_off(context, activity, is_error(answer.status), !signalled);
    if (context.node(activity).kind != Graph::Kind::trigger) activity.state = kinds::what_stays(activity.state);
  } else if (context.graph.program() != nullptr) {
    record.output = std::move(output);
  }
  return mark(context, std::move(record), std::move(activity), answer, Step::work, Mark::work_done);
}

std::string describe_error(const Context& context, const Answer& answer, const Activity& activity) {
  return format("activity {} failed with code {}: {}", context.node(activity).name.raw(), answer.code,
                failure_words(answer.data.view()));
}

Status snapshot(Context& context) {
  MessageRecord record = *context.draft.find_message(context.guid());
  const auto closed = record.ledger.with_job_closed();
  if (!closed) return closed.error();
  record.ledger = *closed;
  context.draft.put(std::move(record));
  return {};
}

// Step 2, closing variant: no transition catches the error, so the job fails once.
Status fail(Context& context, const Answer& answer) {
  const Activity activity = *context.draft.find(answer.activity);
  const auto marked =
      mark(context, *context.draft.find_message(context.guid()), activity, answer, Step::spawn, Mark::children_spawned);
  if (!marked) return marked;
  context.draft.fail_reason(describe_error(context, answer, activity));
  context.draft.fail_with(answer.code);
  if (auto first = next_undo(context)) return begin_undo(context, std::move(*first));
  const auto noted = snapshot(context);
  if (!noted) return noted;
  return close_job(context, JobStatus::failed, true);
}

// Which edges fire, as indices.
Result<std::vector<std::uint32_t>> fired_edges(const Context& context, const Answer& answer, const Activity& activity,
                                               std::uint32_t plane) {
  const Graph::Node& node = context.node(activity);
  if (const Program* program = context.graph.program()) {
    Sight sight = sight_of(context, activity, plane);
    const MessageRecord* record = context.draft.find_message(context.guid());
    sight.output = answer.concludes() ? &activity.output : &record->output;
    sight.status = answer.status;
    sight.code = answer.code;
    sight.speaker = answer.speaker;
    return program->fired(sight);
  }
  std::vector<std::uint32_t> fired;
  for (std::uint32_t i = 0; i < node.edges.size(); ++i)
    if (fires(node.edges[i].when, answer.status, answer.code)) fired.push_back(i);
  return fired;
}

// The error of a job that is being undone. If it was stopped meanwhile, its reason field holds the reason of the stop.
std::string why_it_failed(const Context& context) {
  for (std::uint32_t seq = context.draft.next_activity().raw(); seq-- > 0;) {
    const Activity* activity = context.draft.find(ActivitySeq(seq));
    if (activity->status != ActivityStatus::errored || activity->code != context.draft.code()) continue;
    return describe_error(context, Answer{activity->seq, ReplyStatus::error, activity->code, activity->output},
                          *activity);
  }
  return mismatch_at_end(context).value_or("");
}

// A failed undo has no other way out: the job waits for a person, who can redrive it.
std::optional<Error> why_not_undone(const Context& context, const Answer& answer, const Activity& activity) {
  if (!context.node(activity).is_undo || !is_error(answer.status)) return std::nullopt;
  return Error{ErrorCode::invalid, format("what undoes {} failed; redrive the job to try it again: {}",
                                          context.node(*context.draft.find(*activity.parent)).name.raw(),
                                          describe_error(context, answer, activity))};
}

// An error if it cannot be evaluated what follows the answer that step 1 took.
Status leads_on(const Context& context, const Answer& answer) {
  const Activity& activity = *context.draft.find(answer.activity);
  if (context.node(activity).kind == Graph::Kind::map && answer.role != Role::item) return {};
  if (const auto stuck = why_not_undone(context, answer, activity)) return *stuck;
  const auto edges = fired_edges(context, answer, activity, context.draft.find_message(context.guid())->ledger.plane());
  return edges ? Status{} : edges.error();
}

// What the message sends on. A map's body begins with its items; after them comes its closing join.
std::vector<Body> children(const Context& context, const Answer& answer, const Activity& activity, std::uint32_t plane,
                           const std::vector<std::uint32_t>& fired) {
  const Graph::Node& node = context.node(activity);
  const ledger::Dimensions here = activity.at.in_plane(plane);
  std::vector<Body> made;
  if (node.kind == Graph::Kind::map && answer.role == Role::answer) {
    made.emplace_back(Transition{*node.aim, here.child(), activity.seq, {}});
    return made;
  }
  for (const std::uint32_t i : fired) {
    const Graph::Edge& edge = node.edges[i];
    const Graph::Node& to = context.node(edge.to);
    if (to.kind == Graph::Kind::join) {
      const Activity* above = &activity;
      while (above->at.depth() > to.depth - 1 && above->parent) above = context.draft.find(*above->parent);
      made.emplace_back(Arrive{edge.to, kinds::place_of_join(to, here), above->seq, edge.number, false});
    } else {
      made.emplace_back(Transition{edge.to, here.child(), activity.seq,
                                   context.graph.program() != nullptr ? Payload() : answer.data});
    }
  }
  return made;
}

std::int64_t delta_of(const Answer& answer, std::int64_t count) {
  const bool stays_open = answer.status == ReplyStatus::pending || answer.role == Role::item;
  return stays_open ? ledger::Semaphore::pending(count) : ledger::Semaphore::concluding(count);
}

// `statusThreshold`: if this step leaves exactly this number of obligations, the job is over. They are swept, so it is
// a closing transition; the stored threshold of the job does not change. A trigger opens the job and an item opens its
// plane: neither can close the job.
Result<bool> leaves_few_enough(const Context& context, const Answer& answer, const Activity& activity,
                               std::uint32_t plane) {
  const Program* program = context.graph.program();
  const bool begins = context.node(activity).kind == Graph::Kind::trigger || answer.role == Role::item;
  if (program == nullptr || begins) return false;
  const auto threshold = program->threshold(sight_of(context, activity, plane));
  if (!threshold) return threshold.error();
  return *threshold > 0 && context.draft.semaphore() == *threshold;
}

// Step 2: children, semaphore, marks and snapshot in one commit.
Status spawn(Context& context, const Answer& answer) {
  Draft& draft = context.draft;
  const Guid guid = context.guid();
  const Activity activity = *draft.find(answer.activity);
  const MessageRecord record = *draft.find_message(guid);
  const std::uint32_t plane = record.ledger.plane();
  const bool error = is_error(answer.status);
  const bool decides_edges = context.node(activity).kind != Graph::Kind::map || answer.role == Role::item;
  if (const auto stuck = why_not_undone(context, answer, activity)) return *stuck;
  std::vector<std::uint32_t> fired;
  if (decides_edges) {
    auto edges = fired_edges(context, answer, activity, plane);
    if (!edges) return edges.error();
    fired = std::move(*edges);
  }
  const bool uncaught = error && fired.empty();
  if (uncaught && !context.graph.drains()) return fail(context, answer);
  auto made = uncaught ? std::vector<Body>() : children(context, answer, activity, plane, fired);
  if (uncaught) {  // the other branches finish first
    if (draft.code() == 0) draft.fail_reason(describe_error(context, answer, activity));
    if (draft.code() == 0) draft.fail_with(answer.code);
  }

  std::int64_t delta = delta_of(answer, static_cast<std::int64_t>(made.size()));
  if (answer.concludes()) delta -= kinds::end_branches(context, activity);
  if (context.node(activity).is_undo) {
    if (auto next = next_undo(context))
      made.push_back(std::move(*next)), ++delta;
    else if (draft.reason().empty())
      draft.fail_reason(why_it_failed(context));
  } else if (draft.semaphore() + delta == draft.base().job.threshold) {
    if (auto first = undo_before_end(context)) {
      made.push_back(std::move(*first));
      ++delta;
      draft.begin_undo();
    }
  }
  const auto semaphore = ledger::Semaphore::decode(draft.semaphore());
  if (!semaphore) return semaphore.error();
  const auto stepped = semaphore->step(delta, draft.base().job.threshold);
  if (!stepped) return stepped.error();
  const auto marked = mark(context, record, activity, answer, Step::spawn, Mark::children_spawned);
  if (!marked) return marked;

  draft.step_semaphore(delta, *stepped);
  for (std::size_t i = 0; i < made.size(); ++i)
    context.pass_on(Message{guid.derive(Guid::Purpose::transition, i), made[i]});
  const auto enough = leaves_few_enough(context, answer, activity, plane);
  if (!enough) return enough.error();
  if (*enough)  // the job ends while others are open, and may have to undo what it did
    if (auto first = undo_before_end(context)) return begin_undo(context, std::move(*first));
  if (stepped->threshold_hit || *enough) {
    const auto noted = snapshot(context);
    if (!noted) return noted;
    return close_job(context, draft.final_status(), true);
  }
  const bool decides = answer.status != ReplyStatus::pending && decides_edges;
  if (decides) kinds::skip_edges(context, activity, plane, fired);
  // An item ends at once if its body starts nothing and no join waits for it.
  const bool nothing_begins = answer.role == Role::item && made.empty() && !context.node(activity).before_join;
  if (nothing_begins) context.pass_on(Message{guid.derive(Guid::Purpose::item_done, 0), Item{activity.seq, 0, true}});
  return {};
}

// Step 3: the job completion tasks, only for the message that closed the job.
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
  const auto marked = mark(context, *draft.find_message(context.guid()), *draft.find(answer.activity), answer,
                           Step::finish, Mark::completion_done);
  if (!marked) return marked;
  finish_job(context, std::move(result));
  return {};
}

// A message without marks is wanted only if the job is active. The job's status decides this, never its semaphore. A
// pivot is concluded once and entered again; a map is entered again by its items.
bool is_wanted(const Context& context, const Answer& answer) {
  const Draft& draft = context.draft;
  const Activity* activity = draft.find(answer.activity);
  return draft.active() && activity != nullptr && activity->ledger.has(Mark::leg1_complete) &&
         activity->status != ActivityStatus::skipped &&
         (answer.role == Role::round ? !kinds::is_called_off(context, activity->node, activity->at)
                                     : !activity->ledger.has(Mark::work_done));
}

// Only a round brings an obligation that no activity has taken over yet.
Progress turn_away(Context& context, const Answer& answer) {
  if (answer.role == Role::round && context.draft.active() && !context.draft.undoing()) {
    const auto given = give_back(context, answer.activity);
    if (!given) return park(context, given.error());
  }
  return acknowledge(context);
}

}  // namespace

Progress leg2(Context& context, const Answer& answer) {
  Draft& draft = context.draft;
  const Guid guid = context.guid();
  if (draft.find_message(guid) == nullptr) {
    if (!is_wanted(context, answer)) return turn_away(context, answer);
    const auto entered = enter(context, answer, *draft.find(answer.activity));
    if (!entered) return park(context, entered.error());
    // A concluding message claims the activity in its first transaction.
    if (context.alone() && !answer.concludes()) return Progress::commit_first;
  }
  if (!draft.find_message(guid)->ledger.done(Step::work)) {
    if (!is_wanted(context, answer)) return turn_away(context, answer);  // it had entered, and was cancelled since
    const auto worked = work(context, answer);
    if (!worked) return park(context, worked.error());
    // Every step is a separate commit, but an answer is taken whole or not at all: can its transitions be evaluated?
    if (context.alone()) {
      const auto leads = leads_on(context, answer);
      return leads ? Progress::commit_first : park(context, leads.error());
    }
  }
  if (!draft.find_message(guid)->ledger.done(Step::spawn)) {
    // In a failed or interrupted job marks do not allow step 2.
    if (!draft.active()) return acknowledge(context);
    const auto spawned = spawn(context, answer);
    if (!spawned) return park(context, spawned.error());
    if (context.alone()) return Progress::commit_first;
  }
  const ledger::MessageLedger message = draft.find_message(guid)->ledger;
  if (message.job_closed() && !message.done(Step::finish)) {
    const auto finished = finish(context, answer);
    if (!finished) return park(context, finished.error());
    if (context.alone()) return Progress::commit_first;
  }
  return acknowledge(context);
}

}  // namespace pawl::core
