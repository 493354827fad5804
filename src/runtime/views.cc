#include "runtime/views.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "base/format.h"
#include "core/kind_state.h"
#include "core/program.h"
#include "runtime/collate.h"
#include "runtime/token.h"
#include "runtime/wait_view.h"

namespace pawl::runtime {

namespace {

ActivityStatus public_status(core::ActivityStatus status) {
  switch (status) {
    case core::ActivityStatus::open:
      return ActivityStatus::open;
    case core::ActivityStatus::completed:
      return ActivityStatus::completed;
    case core::ActivityStatus::errored:
      return ActivityStatus::errored;
    case core::ActivityStatus::skipped:
      return ActivityStatus::skipped;
  }
  return ActivityStatus::open;
}

std::optional<WorkView> work_of(const core::WorkItem* item, const core::Guid& store) {
  if (item == nullptr) return std::nullopt;
  const core::WorkLife& life = item->life;
  WorkView view;
  if (item->token != core::WorkToken(0))
    view.token = token_text(WorkRun{WorkRef{item->run, item->activity}, item->token}, store);
  view.worker = item->worker;
  view.attempts = item->runs;
  view.failures = life.failures;
  view.failure_code = life.failure_code;
  view.failure = life.failure;
  view.next_try_at = item->visible_at;
  view.attempt_by = life.attempt_by;
  view.deadline = life.deadline;
  view.progress = life.progress;
  view.held = item->held;
  return view;
}

std::vector<AttemptView> attempts_of(const core::Activity& activity) {
  if (activity.state.empty() || activity.seq == core::ActivitySeq(0)) return {};
  const auto state = core::decode_kind_state(activity.state.view());
  const auto* work = state ? std::get_if<core::WorkState>(&*state) : nullptr;
  std::vector<AttemptView> views;
  if (work != nullptr)
    for (const core::FailedAttempt& attempt : work->attempts)
      views.push_back({attempt.at, attempt.code, attempt.error});
  return views;
}

}  // namespace

JobStatus public_status(core::JobStatus status) {
  switch (status) {
    case core::JobStatus::running:
      return JobStatus::running;
    case core::JobStatus::completed:
      return JobStatus::completed;
    case core::JobStatus::failed:
      return JobStatus::failed;
    case core::JobStatus::interrupted:
      return JobStatus::interrupted;
    case core::JobStatus::parked:
      return JobStatus::parked;
    case core::JobStatus::paused:
      return JobStatus::paused;
  }
  return JobStatus::parked;
}

core::JobStatus core_status(JobStatus status) {
  switch (status) {
    case JobStatus::running:
      return core::JobStatus::running;
    case JobStatus::completed:
      return core::JobStatus::completed;
    case JobStatus::failed:
      return core::JobStatus::failed;
    case JobStatus::interrupted:
      return core::JobStatus::interrupted;
    case JobStatus::parked:
      return core::JobStatus::parked;
    case JobStatus::paused:
      return core::JobStatus::paused;
  }
  return core::JobStatus::parked;
}

ActivityName name_in(const Graph* graph, std::uint32_t node) {
  if (graph != nullptr && node < graph->nodes().size()) return graph->nodes()[node].name;
  return ActivityName(format("#{}", node));
}

JobView view_of(const core::JobRow& job) {
  JobView view;
  view.name_space = job.name_space;
  view.id = job.id;
  view.run = job.run;
  view.graph = job.graph.name;
  view.version = job.graph.version;
  view.status = public_status(job.status);
  view.semaphore = job.semaphore;
  view.created_at = job.created_at;
  view.closed_at = job.closed_at;
  view.result = job.result;
  view.reason = job.reason;
  view.priority = job.priority;
  view.deadline = job.deadline;
  view.remove_at = job.remove_at;
  view.redrives = job.redrives;
  view.data = job.data;
  view.code = job.error_code();
  return view;
}

// A join that was never reached waits for nothing after its job has ended: it never opened.
core::ActivityStatus shown_status(const core::JobState& state, const core::Activity& activity, const Graph* graph) {
  const bool waits = activity.status == core::ActivityStatus::open && core::is_closed(state.job.status);
  const bool join = graph != nullptr && activity.node < graph->nodes().size() &&
                    graph->nodes()[activity.node].kind == Graph::Kind::join;
  return waits && join ? core::ActivityStatus::skipped : activity.status;
}

Effect effect_of(const core::JobState& state, const core::Activity& activity) {
  if (!activity.parent) return Effect::none;
  switch (activity.status) {
    case core::ActivityStatus::completed:
      return Effect::done;
    case core::ActivityStatus::errored:
      return Effect::failed;
    case core::ActivityStatus::skipped:
      // A worker may have begun what was cancelled.
      return activity.code == core::code_called_off ? Effect::unknown : Effect::none;
    case core::ActivityStatus::open:
      break;
  }
  const core::WorkItem* item = state.find_work(activity.seq);
  // Without its item an open activity was answered a moment ago, or removed with its job while a worker may have begun
  // it.
  if (item == nullptr) return core::is_closed(state.job.status) ? Effect::unknown : Effect::started;
  if (item->life.unknown) return Effect::unknown;
  return item->token == core::WorkToken(0) ? Effect::intended : Effect::started;
}

Payload shown_in(const Graph* graph, std::uint32_t node, const Payload& kept) {
  const bool known = graph != nullptr && graph->program() != nullptr && node < graph->nodes().size();
  return known ? graph->program()->shown(node, kept) : kept;
}

// Jobs with more activities are shown without inputs: each input is an expression to evaluate.
constexpr std::size_t inputs_shown_max = 1'000;

void add_input(ActivityView& view, const core::Draft& draft, const core::Activity& activity,
               const core::Program& program) {
  if (const core::WorkItem* item = draft.find_work(activity.seq)) {
    view.input = item->input;
    return;
  }
  if (view.kind == Graph::Kind::trigger) {
    view.input = activity.output;  // a trigger's output is its input
    return;
  }
  if (auto sent = program.sent(core::Sight{draft, activity.node, activity.at, activity.opened_at})) {
    view.input = std::move(sent->input);
    view.input_sure = sent->sure;
  }
}

JobDetail detail_of(const core::JobState& state, const Graph* graph, const core::Guid& store) {
  JobDetail detail;
  detail.job = view_of(state.job);
  const core::Draft draft(state);
  const bool with_inputs =
      graph != nullptr && graph->program() != nullptr && state.activities().size() <= inputs_shown_max;
  for (const core::Activity& activity : state.activities()) {
    ActivityView view;
    view.name = name_in(graph, activity.node);
    view.address = activity.at.text();
    if (activity.parent) view.parent = activity.parent->raw();
    if (activity.at.depth() > 1) view.plane = activity.at.prefix(activity.at.depth() - 1).plane();
    const core::Carried* carried = activity.parent ? draft.carried(activity.node, activity.at) : nullptr;
    view.carried = carried != nullptr && carried->answered;
    view.ledger = activity.ledger.digits();
    view.explanation = activity.ledger.describe();
    if (graph != nullptr && activity.node < graph->nodes().size()) view.kind = graph->nodes()[activity.node].kind;
    const core::ActivityStatus status = shown_status(state, activity, graph);
    view.status = public_status(status);
    const bool called_off = status == core::ActivityStatus::skipped && activity.code == core::code_called_off;
    if (called_off) view.status = ActivityStatus::cancelled;
    view.code = activity.code;
    view.opened_at = activity.opened_at;
    view.closed_at = activity.closed_at;
    view.output = shown_in(graph, activity.node, activity.output);
    if (with_inputs) add_input(view, draft, activity, *graph->program());
    view.effect = status == core::ActivityStatus::skipped && !called_off ? Effect::none : effect_of(state, activity);
    view.work = work_of(state.find_work(activity.seq), store);
    view.waits_for = wait_of(state, activity, graph);
    if (view.waits_for) view.child = view.waits_for->child;
    view.attempts = attempts_of(activity);
    detail.activities.push_back(std::move(view));
  }
  std::vector<const core::MessageRecord*> records;
  for (const auto& [guid, record] : state.messages()) records.push_back(&record);
  std::sort(records.begin(), records.end(),
            [](const auto* a, const auto* b) { return a->ledger.ordinal() < b->ledger.ordinal(); });
  for (const core::MessageRecord* record : records)
    if (record->activity.raw() < detail.activities.size())
      detail.activities[record->activity.raw()].messages.push_back(
          {record->ledger.digits(), record->ledger.describe()});
  if (graph != nullptr) {
    const auto key = collation_key_of(state, *graph);
    detail.collation_key = key ? key->text() : key.error().detail;
  }
  return detail;
}

// Without what it takes over from another run.
Payload input_of(const core::Start& start) {
  auto given = core::unpack_start(start.input);
  return given ? std::move(given->input) : start.input;
}

void add_waiting(JobDetail& detail, const store::StoredJob& stored, const Graph* graph) {
  // The trigger hands on what the job was given; a job that has not started has it in its inbox.
  if (const core::Activity* trigger = stored.state.find(core::ActivitySeq(0))) {
    detail.input = trigger->output;
    if (const auto start = core::unpack_start(trigger->state))
      for (const core::EarlierRun& run : start->earlier)
        detail.earlier.push_back({run.run, run.ended_at, run.code, run.reason});
  }
  for (const core::InboxMessage& waiting : stored.inbox) {
    if (const auto* start = std::get_if<core::Start>(&waiting.message.body)) detail.input = input_of(*start);
    const auto* refused = std::get_if<core::Refused>(&waiting.message.body);
    if (refused != nullptr && refused->activity.raw() < detail.activities.size())
      detail.activities[refused->activity.raw()].refused =
          RefusedView{refused->code, core::is_error(refused->status), refused->data};
  }
  for (const core::InboxMessage& timer : stored.timers) {
    TimerView view{timer.due, "deadline", "", ""};
    if (const auto* start = std::get_if<core::Start>(&timer.message.body)) {
      view.what = "start";
      detail.input = input_of(*start);
    }
    if (const auto* up = std::get_if<core::TimeUp>(&timer.message.body)) {
      view.what = core::name_of(up->what);
      if (const core::Activity* activity = stored.state.find(up->activity)) {
        view.activity = name_in(graph, activity->node).raw();
        view.address = activity->at.text();
      }
    }
    detail.timers.push_back(std::move(view));
  }
}

}  // namespace pawl::runtime
