#include "runtime/events.h"

#include <optional>

#include "core/carried.h"
#include "runtime/views.h"
#include "runtime/wait_view.h"

namespace pawl::runtime {

namespace {

using Kind = Event::Kind;
using Mark = ledger::ActivityLedger::Mark;

class Teller {
 public:
  Teller(const core::JobState& after, const Graph& graph, Instant now, const std::function<void(const Event&)>& tell)
      : graph_(graph), tell_(tell) {
    event_.job = after.job.id;
    event_.run = after.job.run;
    event_.name_space = after.job.name_space;
    event_.graph = after.job.graph.name;
    event_.at = now;
    if (const core::Activity* trigger = after.find(core::ActivitySeq(0)); trigger != nullptr && !trigger->state.empty())
      if (const auto start = core::unpack_start(trigger->state)) event_.trace = start->trace.value_or("");
    if (const auto& parent = after.job.parent) event_.parent = ActivityOfJob{parent->run, parent->activity.raw()};
  }

  void job(Kind kind) {
    Event event = event_;
    event.kind = kind;
    tell_(event);
  }
  void job_closed(const core::JobRow& job) {
    Event event = event_;
    event.kind = Kind::job_closed;
    event.began = job.created_at;
    event.status = public_status(job.status);
    event.code = job.error_code();
    tell_(event);
  }
  Event about(Kind kind, const core::Activity& activity, std::int32_t code) const {
    Event event = event_;
    event.kind = kind;
    event.activity = name_in(&graph_, activity.node);
    event.address = activity.at.text();
    event.ledger = activity.ledger.digits();
    event.code = code;
    event.number = activity.seq.raw();
    if (activity.node < graph_.nodes().size()) event.activity_kind = graph_.nodes()[activity.node].kind;
    return event;
  }
  void tell(const Event& event) { tell_(event); }
  Payload shown(std::uint32_t node, const Payload& kept) const { return shown_in(&graph_, node, kept); }
  void announced(const core::Announce& said) {
    Event event = event_;
    event.kind = Kind::job_announced;
    event.code = said.code;
    event.output = said.data;
    tell_(event);
  }
  void opened(const core::JobState& after, const core::Activity& activity) {
    Event event = about(Kind::activity_opened, activity, activity.code);
    event.waits_for = wait_of(after, activity, &graph_);
    tell_(event);
  }

 private:
  const Graph& graph_;
  const std::function<void(const Event&)>& tell_;
  Event event_;  // the common fields
};

std::optional<Kind> kind_of(const core::PutActivity& put) {
  const core::Activity& activity = put.after;
  if (activity.ledger.has(Mark::work_done) && !(put.before && put.before->has(Mark::work_done)))
    return Kind::activity_closed;
  if (!put.before) return Kind::activity_opened;
  if (activity.ledger.entries() > put.before->entries() && activity.status == core::ActivityStatus::open)
    return Kind::activity_pending;
  return std::nullopt;
}

bool starts(const core::Write& write) {
  const auto* put = std::get_if<core::PutActivity>(&write);
  return put != nullptr && !put->before && put->after.seq == core::ActivitySeq(0);
}

void tell_change(Teller& teller, const core::JobState& after, const core::ChangeWork& change) {
  const core::Activity* activity = after.find(change.activity);
  if (activity == nullptr) return;
  if (change.release && after.job.status == core::JobStatus::running) {
    Event event = teller.about(Kind::activity_retried, *activity, change.life.failure_code);
    event.at = change.visible_at;
    event.output = Payload(change.life.failure);
    teller.tell(event);
  } else if (!change.release && change.life.unknown) {
    teller.tell(teller.about(Kind::activity_unknown, *activity, 0));
  }
}

// The data of the message that entered, in the plane that it opened.
Payload said_in(const core::Bundle& bundle, core::ActivitySeq activity) {
  Payload said;
  for (const core::Write& write : bundle.writes)
    if (const auto* put = std::get_if<core::PutRecord>(&write); put != nullptr && put->after.activity == activity)
      said = put->after.output;
  return said;
}

void tell_put(Teller& teller, const core::JobState& after, const core::Bundle& bundle, const core::PutActivity& put,
              Kind kind) {
  if (kind == Kind::activity_opened) return teller.opened(after, put.after);
  Event event = teller.about(kind, put.after, put.after.code);
  event.output =
      teller.shown(put.after.node, kind == Kind::activity_closed ? put.after.output : said_in(bundle, put.after.seq));
  if (kind == Kind::activity_closed) {
    event.began = put.after.opened_at;
    event.failed = put.after.status == core::ActivityStatus::errored;
    for (const auto& [activity, attributes] : bundle.telemetry)
      if (activity == put.after.seq) event.telemetry = attributes;
  }
  teller.tell(event);
}

}  // namespace

void for_each_event(const core::JobState& after, const core::Bundle& bundle, const Graph& graph, Instant now,
                    const std::function<void(const Event&)>& tell) {
  Teller teller(after, graph, now, tell);
  for (const core::Write& write : bundle.writes)
    if (starts(write)) teller.job(Kind::job_started);
  // A parent concludes before its children open, independent of the order of the rows.
  for (const Kind kind : {Kind::activity_pending, Kind::activity_closed, Kind::activity_opened})
    for (const core::Write& write : bundle.writes)
      if (const auto* put = std::get_if<core::PutActivity>(&write); put != nullptr && kind_of(*put) == kind)
        tell_put(teller, after, bundle, *put, kind);
  for (const core::Write& write : bundle.writes) {
    if (const auto* change = std::get_if<core::ChangeWork>(&write)) tell_change(teller, after, *change);
    if (const auto* said = std::get_if<core::Announce>(&write)) teller.announced(*said);
    // The bundle that stops the job holds its work, and the bundle that resumes the job releases it.
    const auto* hold = std::get_if<core::HoldWork>(&write);
    if (hold == nullptr) continue;
    if (!hold->held)
      teller.job(Kind::job_resumed);
    else
      teller.job(after.job.status == core::JobStatus::parked ? Kind::job_parked : Kind::job_paused);
  }
  const auto& head = std::get<core::JobHead>(bundle.head);
  if (head.completions > head.completions_before) teller.job_closed(after.job);
}

}  // namespace pawl::runtime
