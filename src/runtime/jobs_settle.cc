// Jobs: the outcome of a bundle or of a submit.
#include <algorithm>
#include <utility>

#include "base/format.h"
#include "base/seeded_bug.h"
#include "core/apply.h"
#include "runtime/jobs.h"
#include "runtime/parts.h"

namespace pawl::runtime {

using store::OutcomeKind;

void Jobs::settle_submit(const store::Submit& submit, const store::Outcome& outcome, Ticket ticket) {
  OwnedLane* lane = parts_.lanes.mine(submit.lane);
  if (lane != nullptr) learn_number(*lane, submit, outcome);
  const bool unknown = outcome.kind == OutcomeKind::outcome_unknown;  // then its first step finds out
  if (!unknown && outcome.run() != submit.expected) forget_first_step(submit);
  switch (outcome.kind) {
    case OutcomeKind::committed:
      break;
    case OutcomeKind::already_done:
    case OutcomeKind::exists:
      // Perhaps an earlier attempt of this engine created it and the reply was lost: then its start message is not
      // served yet.
      if (lane != nullptr && hot_.find(outcome.run()) == nullptr) parts_.loader.load(*lane, outcome.run(), {});
      return parts_.events.submitted(ticket, Submitted{outcome.run(), false});
    case OutcomeKind::outcome_unknown:
      // If it was accepted, its start message waits in the store and no one delivers it.
      if (lane != nullptr && !seeded(SeededBug::no_safety_net)) parts_.loader.scan(*lane, false);
      return parts_.events.submitted(
          ticket, Error{ErrorCode::outcome_unknown, "the job may have been accepted; look it up by its id"});
    case OutcomeKind::conflict:
      return parts_.events.submitted(ticket, Error{ErrorCode::conflict, outcome.reason});
    case OutcomeKind::fenced:
    case OutcomeKind::over_limit:
    case OutcomeKind::rejected:
      return parts_.events.submitted(ticket, Error{ErrorCode::invalid, outcome.reason});
  }
  parts_.events.submitted(ticket, Submitted{outcome.run(), true});
  if (lane == nullptr) return;
  if (outcome.replaced() != RunId(0)) parts_.loader.look(*lane, outcome.replaced());
  begin(*lane, submit, outcome.run());
}

// A job that was just accepted: its state is known without a read.
void Jobs::begin(OwnedLane& lane, const store::Submit& submit, RunId run) {
  using DueKind = store::Due::Kind;
  if (submit.deadline != Instant())
    parts_.alarms.arm(lane, store::Due{submit.deadline, run, DueKind::message, core::deadline_guid(run)});
  if (submit.start_at != Instant()) {
    const core::Guid start = core::start_message(run, {}).guid;
    return parts_.alarms.arm(lane, store::Due{submit.start_at, run, DueKind::message, start});
  }
  if (hot_.find(run) != nullptr) return;  // its first step is here, or a scan was faster
  if (lane.unread.contains(run)) return parts_.loader.read_as_job(lane, run);
  auto graph = parts_.graphs.find(submit.graph);
  if (graph != nullptr) make_ready(open(submit, run, std::move(graph)));
}

// A new job in memory, with its start message to decide.
HotJob& Jobs::open(const store::Submit& submit, RunId run, std::shared_ptr<const Graph> graph) {
  core::JobState state;
  state.job.run = run;
  state.job.name_space = submit.name_space;
  state.job.id = submit.id;
  state.job.graph = submit.graph;
  state.job.created_at = submit.at;
  state.job.priority = submit.priority;
  state.job.keep = submit.keep;
  state.job.deadline = submit.deadline;
  state.job.secret = submit.secret;
  HotJob& job = hot_.add(std::move(state), std::move(graph));
  job.queue.push_back(core::Delivery{core::start_message(run, submit.input), core::Origin::memory});
  return job;
}

void Jobs::learn_number(OwnedLane& lane, const store::Submit& submit, const store::Outcome& outcome) {
  if (outcome.kind == OutcomeKind::committed)
    lane.next_run.got(submit.expected, outcome.run());
  else if (outcome.kind == OutcomeKind::outcome_unknown)
    lane.next_run.forget();
  else
    lane.next_run.not_used(submit.expected);
}

void Jobs::submits_refused() {
  for (OwnedLane* lane : parts_.lanes.all_mine()) lane->next_run.forget();
}

// The job did not get the number that its first step was decided for, or is no job at all. Another one may have the
// number, and be waiting.
void Jobs::forget_first_step(const store::Submit& submit) {
  const HotJob* job = submit.expected == RunId(0) ? nullptr : hot_.find(submit.expected);
  if (job == nullptr || job->state.job.secret != submit.secret) return;
  forget(submit.expected);
  if (OwnedLane* lane = parts_.lanes.mine(submit.lane)) parts_.loader.look(*lane, submit.expected);
}

bool Jobs::came_back(const core::Bundle& bundle) {
  HotJob* job = hot_.find(bundle.entity);
  if (job == nullptr || !job->in_flight || job->bundle != bundle.id) return false;
  job->in_flight = false;
  return true;
}

void Jobs::withdraw(const core::Bundle& bundle) { parts_.workshop.give_back_slots(bundle); }

void Jobs::read_again(core::Bundle bundle) {
  if (!hot_.find(bundle.entity)->damaged.empty()) return forget(bundle.entity);  // it cannot be read
  parts_.workshop.topics_changed();  // it may have claimed work of a topic that was paused since
  parts_.loader.reload(std::move(bundle));
}

void Jobs::absorb(const core::Bundle& bundle) {
  HotJob& job = *hot_.find(bundle.entity);
  const core::JobStatus status_before = job.state.job.status;
  const std::uint32_t completions_before = job.state.job.completions;
  const std::vector<WorkRun> unwanted = parts_.workshop.runs_ended_by(job.state, bundle);
  job.in_flight = true;  // its messages to itself may come back here: rest() handles them afterwards
  core::apply(job.state, bundle);
  parts_.far_replies.committed(job, bundle);
  job.drop_done();
  hand_on(job, bundle);
  parts_.events.committed(job.state, bundle);
  parts_.post.sent(bundle, OutcomeKind::committed);
  for (const WorkRun& run : unwanted)
    if (!seeded(SeededBug::cancel_not_told)) parts_.events.cancel(run);
  const core::JobRow& row = job.state.job;
  if (row.completions > completions_before) parts_.events.closed(row);
  // Not when it closes: it must stay until its completion tasks are done.
  OwnedLane* lane = parts_.lanes.mine(row.run);
  if (lane != nullptr && row.completions > completions_before && row.remove_at != Instant())
    parts_.alarms.arm(*lane, store::Due{row.remove_at, row.run, store::Due::Kind::removal});
  if (row.status == core::JobStatus::parked && status_before != core::JobStatus::parked)
    parts_.events.problem_of_many(format("graph {} is parked: {}", row.graph.name.raw(), row.reason),
                                  format("job {} is parked: {}", row.id.raw(), row.reason));
  // Messages that came while it was stopped are only in the store.
  if (core::is_stopped(status_before) && row.status == core::JobStatus::running) job.look_again = true;
  job.in_flight = false;
  rest(job);
}

// What a bundle put is handed on from memory. If the lane is lost, the next owner finds all of it.
void Jobs::hand_on(HotJob& job, const core::Bundle& bundle) {
  OwnedLane* lane = parts_.lanes.mine(bundle.entity);
  if (lane != nullptr) parts_.workshop.forget_probes(*lane, bundle);
  for (const core::Write& write : bundle.writes) {
    if (const auto* work = std::get_if<core::PutWork>(&write)) {
      const core::WorkItem* item = job.state.find_work(work->item.activity);  // none: removed by this same bundle
      if (item != nullptr)
        parts_.workshop.put(lane, *item);
      else
        parts_.workshop.free_room(work->item);
    } else if (const auto* change = std::get_if<core::ChangeWork>(&write)) {
      const core::WorkItem* item = job.state.find_work(change->activity);
      if (item != nullptr && lane != nullptr) parts_.workshop.adopt(*lane, *item);
    } else if (const auto* drop = std::get_if<core::DropWork>(&write)) {
      parts_.workshop.cancel_run(WorkRun{WorkRef{bundle.entity, drop->activity}, drop->token});
    } else if (const auto* put = std::get_if<core::PutMessage>(&write)) {
      if (put->due == Instant())
        job.queue.push_back(core::Delivery{put->message, core::Origin::memory});
      else if (lane != nullptr)
        parts_.alarms.arm(*lane, store::Due{put->due, bundle.entity, store::Due::Kind::message, put->message.guid});
      if (put->due == Instant()) continue;
      job.wakes(put->due);
      if (put->due <= parts_.clock.now() + limits::short_wait_max)
        job.keep_timer(core::InboxMessage{put->message, 0, put->due});
    } else if (const auto* send = std::get_if<core::Send>(&write)) {
      const auto* start = std::get_if<core::StartChild>(&send->envelope.message.body);
      job.has_children = job.has_children || start != nullptr;
    }
  }
}

void Jobs::rest(HotJob& job) {
  const RunId run = job.state.job.run;
  if (!job.damaged.empty()) {
    const std::string what = job.damaged;
    const bool runs_on = job.state.job.status == core::JobStatus::running;
    forget(run);
    if (runs_on) parts_.loader.park_damaged(run, what);
    return;
  }
  parts_.far_replies.look(job);
  if (job.look_again) {
    job.look_again = false;
    OwnedLane* lane = parts_.lanes.mine(run);
    if (lane == nullptr) return forget(run);
    return parts_.loader.merge_inbox(*lane, job);  // then it rests
  }
  const bool stopped = core::is_stopped(job.state.job.status);
  // A stopped job receives requests, and its workers' replies are stored; the rest waits in the store.
  const auto is_heard = [](const core::Delivery& delivery) {
    return delivery.origin == core::Origin::unstored || core::is_control(delivery.message.body);
  };
  if (stopped && std::none_of(job.queue.begin(), job.queue.end(), is_heard)) job.queue.clear();
  if (job.queue.empty()) {
    suspect_served(run);
    if (job.lookups > 0) return hot_.use(job);
    if (job.state.job.status != core::JobStatus::running || may_leave(job)) return forget(run);
    return hot_.idle(job);
  }
  make_ready(job);
}

// The store has all of it, and its timer is in the table of what is due.
bool Jobs::may_leave(HotJob& job) const {
  if (!job.only_waits() || job.state.bytes() > limits::light_job_bytes) return false;
  const Instant now = parts_.clock.now();
  if (job.wakes_at <= now) job.wakes_at = Instant();  // served, or another one is sooner than the next
  return job.wakes_at == Instant() || job.wakes_at > now + limits::short_wait_max;
}

void Jobs::suspect_served(RunId run) {
  if (!turns_.is_suspect_out(run)) return;
  if (HotJob* job = hot_.find(run)) job->suspect = false;
  turns_.leave(run, parts_.clock.monotonic());
}

// The store will never accept this bundle: the job is stopped with the reason. If even that is refused, the job stays
// out of memory and the problem is reported.
void Jobs::refused(const core::Bundle& bundle, const std::string& reason) {
  const RunId run = bundle.entity;
  HotJob& job = *hot_.find(run);
  if (!job.damaged.empty()) return forget(run);
  parts_.events.problem(format("job {}: the store rejected its bundle: {}", job.state.job.id.raw(), reason));
  OwnedLane* lane = parts_.lanes.mine(run);
  if (lane == nullptr) return forget(run);
  hold(job);
  parts_.reads.ask(*lane, store::ReadJob{run}, [this, run, reason](OwnedLane&, store::AnswerTo<store::ReadJob> stored) {
    park_rejected(run, reason, std::move(stored));
  });
}

void Jobs::park_rejected(RunId run, const std::string& reason, store::AnswerTo<store::ReadJob> stored) {
  HotJob* job = release(run);
  if (job == nullptr) return;
  if (!stored) {  // its row is enough to stop it
    parts_.loader.damaged(run, stored.error().code == ErrorCode::corrupt ? stored.error().detail : reason);
    const HotJob* left = hot_.find(run);
    if (left != nullptr && left->damaged.empty()) forget(run);
    return;
  }
  const bool can_park =
      *stored && (*stored)->state.job.status == core::JobStatus::running && job->state.job.reason != reason;
  OwnedLane* lane = parts_.lanes.mine(run);
  if (!can_park || lane == nullptr) return forget(run);
  job->state = std::move((*stored)->state);
  job->state.job.reason = reason;  // only in memory: a second rejection for the same reason ends it
  park(*lane, *job, reason);
}

}  // namespace pawl::runtime
