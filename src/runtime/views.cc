#include "runtime/views.h"

#include <algorithm>

#include "base/format.h"
#include "base/invariant.h"
#include "ledger/collation_key.h"

namespace pawl {

std::string_view name_of(JobStatus status) { return core::name_of(runtime::core_status(status)); }

namespace runtime {

namespace {

using Mark = ledger::ActivityLedger::Mark;
using State = ledger::CollationKey::State;

JobStatus public_status(core::JobStatus status) {
  switch (status) {
    case core::JobStatus::running: return JobStatus::running;
    case core::JobStatus::completed: return JobStatus::completed;
    case core::JobStatus::failed: return JobStatus::failed;
    case core::JobStatus::interrupted: return JobStatus::interrupted;
    case core::JobStatus::parked: return JobStatus::parked;
  }
  return JobStatus::parked;
}

ActivityName name_in(const Graph* graph, std::uint32_t node) {
  if (graph != nullptr && node < graph->nodes().size()) return graph->nodes()[node].name;
  return ActivityName(format("#{}", node));
}

// A digit for every activity of the graph: that of its newest instance, or what became of it without one.
void collate(const Graph& graph, std::uint32_t node, bool parent_ended, const std::vector<const core::Activity*>& newest,
             ledger::CollationKey::States& states) {
  const core::Activity* activity = newest[node];
  State state = parent_ended ? State::skipped : State::pending;
  bool ended = parent_ended && activity == nullptr;
  if (activity != nullptr) {
    ended = activity->status != core::ActivityStatus::open;
    state = State::started;
    if (activity->status == core::ActivityStatus::completed) state = State::completed;
    if (activity->status == core::ActivityStatus::errored) state = State::errored;
  }
  states.emplace(graph.nodes()[node].name.raw(), state);
  for (const Graph::Edge& edge : graph.nodes()[node].edges) collate(graph, edge.to, ended, newest, states);
}

std::string collation_key_of(const core::JobState& state, const Graph& graph) {
  std::vector<const core::Activity*> newest(graph.nodes().size(), nullptr);
  for (const core::Activity& activity : state.activities())
    if (activity.node < newest.size()) newest[activity.node] = &activity;
  ledger::CollationKey::States states;
  collate(graph, graph.trigger(), core::is_closed(state.job.status), newest, states);
  const auto key = ledger::CollationKey::from(states);
  return key ? key->text() : key.error().detail;
}

}  // namespace

core::JobStatus core_status(JobStatus status) {
  switch (status) {
    case JobStatus::running: return core::JobStatus::running;
    case JobStatus::completed: return core::JobStatus::completed;
    case JobStatus::failed: return core::JobStatus::failed;
    case JobStatus::interrupted: return core::JobStatus::interrupted;
    case JobStatus::parked: return core::JobStatus::parked;
  }
  return core::JobStatus::parked;
}

JobView view_of(const core::JobRow& job) {
  return {job.name_space, job.id,         job.run,       job.graph.name, job.graph.version, public_status(job.status),
          job.semaphore,  job.created_at, job.closed_at, job.result,     job.reason};
}

JobDetail detail_of(const core::JobState& state, const Graph* graph) {
  JobDetail detail{view_of(state.job), {}, ""};
  for (const core::Activity& activity : state.activities())
    detail.activities.push_back({name_in(graph, activity.node), std::string(activity.at.text()),
                                 activity.ledger.digits(), activity.ledger.describe(), {},
                                 activity.status == core::ActivityStatus::open,
                                 activity.status == core::ActivityStatus::errored, activity.code, activity.opened_at,
                                 activity.closed_at, activity.output});
  std::vector<const core::MessageRecord*> records;
  for (const auto& [guid, record] : state.messages()) records.push_back(&record);
  std::sort(records.begin(), records.end(), [](const auto* a, const auto* b) { return a->ledger.ordinal() < b->ledger.ordinal(); });
  for (const core::MessageRecord* record : records)
    if (record->activity.raw() < detail.activities.size())
      detail.activities[record->activity.raw()].messages.push_back({record->ledger.digits(), record->ledger.describe()});
  if (graph != nullptr) detail.collation_key = collation_key_of(state, *graph);
  return detail;
}

void for_each_event(const core::JobState& after, const core::Bundle& bundle, const Graph& graph, Instant now,
                    const std::function<void(const Event&)>& tell) {
  Event event;
  event.job = after.job.id;
  event.run = after.job.run;
  event.at = now;
  if (bundle.rev_before == core::Rev(0)) tell(event);
  // A parent concludes before its children open, whatever the order of the rows.
  for (const Event::Kind kind : {Event::Kind::activity_pending, Event::Kind::activity_closed, Event::Kind::activity_opened}) {
    for (const core::Write& write : bundle.writes) {
      const auto* put = std::get_if<core::PutActivity>(&write);
      if (put == nullptr) continue;
      const core::Activity& activity = put->after;
      const bool closes = activity.ledger.has(Mark::work_done) && !(put->before && put->before->has(Mark::work_done));
      const bool opens = !put->before;
      const bool pends = put->before && !closes && activity.ledger.entries() > put->before->entries();
      const bool matches = (kind == Event::Kind::activity_closed && closes) ||
                           (kind == Event::Kind::activity_opened && opens && !closes) ||
                           (kind == Event::Kind::activity_pending && pends);
      if (!matches) continue;
      event.kind = kind;
      event.activity = name_in(&graph, activity.node);
      event.address = activity.at.text();
      event.ledger = activity.ledger.digits();
      event.code = activity.code;
      tell(event);
    }
  }
  event.activity = ActivityName("");
  event.address.clear();
  event.ledger.clear();
  const auto& head = std::get<core::JobHead>(bundle.head);
  if (head.completions > head.completions_before) {
    event.kind = Event::Kind::job_closed;
    tell(event);
  } else if (after.job.status == core::JobStatus::parked) {
    event.kind = Event::Kind::job_parked;
    tell(event);
  }
}

}  // namespace runtime
}  // namespace pawl
