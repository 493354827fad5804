// Engine: what became of a group. Each outcome has one reaction, and they are all here.
#include <algorithm>

#include "base/format.h"
#include "base/invariant.h"
#include "base/seeded_bug.h"
#include "core/apply.h"
#include "runtime/bytes.h"
#include "runtime/engine.h"

namespace pawl::runtime {

namespace {
using store::OutcomeKind;
constexpr Duration retry_backoff_min = std::chrono::milliseconds(5);
constexpr Duration retry_backoff_max = std::chrono::seconds(1);

bool is_asked_for(const store::Operation& operation, Ticket ticket) {
  return ticket != 0 || std::holds_alternative<store::Submit>(operation);
}
}  // namespace

void Engine::finished(Group group, Result<std::vector<store::Outcome>> result) {
  group_out_ = false;
  bytes_out_ = 0;
  turns_.committed_in(clock_.monotonic() - group.asked_at);
  if (!result && result.error().code != ErrorCode::outcome_unknown) return retry_later(std::move(group), result.error());
  retry_backoff_ = Duration{0};
  std::vector<store::Outcome> outcomes;
  if (result) {
    outcomes = std::move(*result);
    invariant(outcomes.size() == group.operations.size(), "one outcome for each operation");
  } else {
    outcomes.assign(group.operations.size(), store::Outcome{OutcomeKind::outcome_unknown, result.error().detail});
    // It may have put times that nobody here knows: when a job is removed, when an accepted one starts.
    for (auto& [lane, table] : due_) table.forget_horizon();
  }
  for (std::size_t i = 0; i < group.operations.size(); ++i)
    settle(group.operations[i], std::move(outcomes[i]), group.tickets[i], group.asked_at);
}

// Nothing was applied and the cause may pass. Callers hear it at once; bundles are committed later.
void Engine::retry_later(Group group, const Error& error) {
  if (retry_backoff_.count() == 0) events_.problem(to_string(error));
  Group kept;
  for (std::size_t i = 0; i < group.operations.size(); ++i) {
    if (is_asked_for(group.operations[i], group.tickets[i])) {
      refuse(group.operations[i], group.tickets[i], error);
    } else {
      kept.add(std::move(group.operations[i]), group.tickets[i]);
    }
  }
  if (kept.operations.empty()) return;
  refuse_pending(error);
  retry_backoff_ = std::clamp(retry_backoff_ * 2, retry_backoff_min, retry_backoff_max);
  retry_at_ = clock_.monotonic() + retry_backoff_;
  retry_reason_ = error.detail;
  retry_ = std::move(kept);
}

void Engine::refuse(store::Operation& operation, Ticket ticket, const Error& error) {
  if (std::holds_alternative<store::Submit>(operation)) events_.submitted(ticket, error);
  else events_.answered(ticket, error);
}

// Callers whose request would only wait behind what cannot be written hear it now.
void Engine::refuse_pending(const Error& error) {
  Group kept;
  for (std::size_t i = 0; i < pending_.operations.size(); ++i) {
    if (is_asked_for(pending_.operations[i], pending_.tickets[i])) {
      refuse(pending_.operations[i], pending_.tickets[i], error);
    } else {
      kept.add(std::move(pending_.operations[i]), pending_.tickets[i]);
    }
  }
  pending_ = std::move(kept);
}

void Engine::settle(store::Operation& operation, store::Outcome outcome, Ticket ticket, Duration asked_at) {
  if (auto* bundle = std::get_if<core::Bundle>(&operation)) {
    if (outcome.done() && !outcome.reason.empty()) events_.problem(outcome.reason);  // a signal that it sent was refused
    settle_bundle(*bundle, outcome);
  } else if (const auto* submit = std::get_if<store::Submit>(&operation)) {
    settle_submit(*submit, outcome, ticket);
  } else if (const auto* claim = std::get_if<store::ClaimItem>(&operation)) {
    settle_claim(*claim, std::move(outcome));
  } else if (const auto* acquire = std::get_if<store::AcquireLane>(&operation)) {
    settle_lane(acquire->lane, outcome, true, asked_at);
  } else if (const auto* renew = std::get_if<store::RenewLane>(&operation)) {
    settle_lane(renew->lane, outcome, false, asked_at);
  } else if (const auto* drop = std::get_if<store::DropOutbox>(&operation)) {
    settle_outbox(*drop, outcome);
  } else {
    const auto* deliver = std::get_if<store::Deliver>(&operation);
    if (deliver != nullptr && outcome.done() && !outcome.reason.empty()) events_.problem(outcome.reason);
    settle_request(operation, outcome);
    if (ticket != 0) events_.answered(ticket, std::move(outcome));
  }
}

void Engine::settle_bundle(core::Bundle& bundle, const store::Outcome& outcome) {
  if (settle_mailbox(bundle, outcome)) return;
  HotJob* job = jobs_.find(bundle.entity);
  // Forgotten meanwhile with its lane, or read again: whoever owns it now delivers what was committed.
  if (job == nullptr || !job->in_flight || job->bundle != bundle.id) return give_back_slots(bundle);
  job->in_flight = false;
  if (!job->damaged.empty() && outcome.kind != OutcomeKind::fenced && !outcome.done()) {
    give_back_slots(bundle);
    return forget(bundle.entity);
  }
  if (outcome.kind == OutcomeKind::fenced && seeded(SeededBug::fenced_ignored)) return absorb(*job, bundle);
  if (outcome.kind == OutcomeKind::outcome_unknown && seeded(SeededBug::unknown_is_committed)) return absorb(*job, bundle);
  switch (outcome.kind) {
    case OutcomeKind::committed:
    case OutcomeKind::already_done: return absorb(*job, bundle);
    case OutcomeKind::exists:
    case OutcomeKind::conflict:
    case OutcomeKind::outcome_unknown:
      give_back_slots(bundle);
      read_paused_topics();  // it may have claimed work of a topic that was paused since
      sent(bundle, OutcomeKind::outcome_unknown);
      return reload(bundle);
    case OutcomeKind::fenced:
      events_.problem(format("lane {} has another owner", core::lane_of(bundle.entity).raw()));
      give_back_slots(bundle);
      return lane_taken(core::lane_of(bundle.entity));
    case OutcomeKind::over_limit:
    case OutcomeKind::rejected:
      give_back_slots(bundle);
      return reject(*job, outcome.reason);
  }
}

void Engine::absorb(HotJob& job, const core::Bundle& bundle) {
  const core::JobStatus status_before = job.state.job.status;
  const std::uint32_t completions_before = job.state.job.completions;
  const std::vector<WorkRun> unwanted = runs_ended_by(job.state, bundle);
  job.in_flight = true;  // what it sends may come back to it: rest() looks, when all of this is done
  core::apply(job.state, bundle);
  job.drop_done();
  forget_probes(bundle);
  after_commit(job, bundle);
  events_.committed(job.state, bundle);
  sent(bundle, OutcomeKind::committed);
  for (const WorkRun& run : unwanted)
    if (!seeded(SeededBug::cancel_not_told)) events_.cancel(run);
  const core::JobRow& row = job.state.job;
  if (row.completions > completions_before) events_.closed(row);
  // Not when it closes: until its completion tasks are done nothing may take it away.
  if (row.completions > completions_before && row.remove_at != Instant())
    arm(store::Due{row.remove_at, row.run, store::Due::Kind::removal});
  if (row.status == core::JobStatus::parked && status_before != core::JobStatus::parked)
    events_.problem(format("job {} is parked: {}", row.id.raw(), row.reason));
  // What waited while it was stopped is in the store only.
  if (core::is_stopped(status_before) && row.status == core::JobStatus::running) job.look_again = true;
  job.in_flight = false;
  rest(job);
}

// Runs that a bundle takes from under their local workers: nobody waits for them any more.
std::vector<WorkRun> Engine::runs_ended_by(const core::JobState& before, const core::Bundle& bundle) const {
  std::vector<WorkRun> runs;
  const auto add = [&](core::ActivitySeq activity, core::WorkToken token) {
    const WorkRun run{WorkRef{bundle.entity, activity}, token};
    if (desk_.is_running(run.ref, token)) runs.push_back(run);
  };
  for (const core::Write& write : bundle.writes) {
    if (const auto* drop = std::get_if<core::DropWork>(&write)) {
      add(drop->activity, drop->token);
    } else if (const auto* change = std::get_if<core::ChangeWork>(&write)) {
      // Given back, or in doubt since its time was over: its answer would settle that, but it is to come back.
      add(change->activity, change->token);
    } else if (const auto* put = std::get_if<core::PutActivity>(&write)) {
      // Concluded by somebody else's word, such as a person's.
      const core::WorkItem* item = before.find_work(put->after.seq);
      if (item != nullptr && put->after.ledger.has(ledger::ActivityLedger::Mark::work_done)) add(item->activity, item->token);
    } else if (std::holds_alternative<core::Sweep>(write)) {
      for (const auto& [seq, item] : before.work()) add(seq, item.token);
    }
  }
  return runs;
}

// What a bundle put is handed on from memory.
void Engine::after_commit(HotJob& job, const core::Bundle& bundle) {
  for (const core::Write& write : bundle.writes) {
    if (const auto* work = std::get_if<core::PutWork>(&write)) {
      const core::WorkItem* item = job.state.find_work(work->item.activity);  // none: swept by this very bundle
      if (item != nullptr) adopt(*item, item->token == core::WorkToken(0) ? Slot::wanted : Slot::taken);
    } else if (const auto* change = std::get_if<core::ChangeWork>(&write)) {
      if (const core::WorkItem* item = job.state.find_work(change->activity)) adopt(*item, Slot::wanted);
    } else if (const auto* drop = std::get_if<core::DropWork>(&write)) {
      // Its time was over, or somebody else answered: whoever still works on it does so for nobody.
      const WorkRun run{WorkRef{bundle.entity, drop->activity}, drop->token};
      if (desk_.is_running(run.ref, run.token)) events_.cancel(run);
    } else if (const auto* put = std::get_if<core::PutMessage>(&write)) {
      if (put->due == Instant()) job.queue.push_back(core::Delivery{put->message, core::Origin::memory});
      else arm(store::Due{put->due, bundle.entity, store::Due::Kind::message, put->message.guid});
    }
  }
}

void Engine::rest(HotJob& job) {
  const RunId run = job.state.job.run;
  if (!job.damaged.empty()) {
    const std::string what = job.damaged;
    const bool runs_on = job.state.job.status == core::JobStatus::running;
    forget(run);
    if (runs_on) park_damaged(run, what);
    return;
  }
  if (job.look_again) {
    job.look_again = false;
    if (!merge_inbox(job)) return set_aside(job);
  }
  const bool stopped = core::is_stopped(job.state.job.status);
  // A stopped job hears what is asked of it, and its workers' answers are stored; the rest waits in the store.
  const auto is_heard = [](const core::Delivery& delivery) {
    return delivery.origin == core::Origin::unstored || core::is_control(delivery.message.body);
  };
  if (stopped && std::none_of(job.queue.begin(), job.queue.end(), is_heard)) job.queue.clear();
  if (job.queue.empty()) {
    if (turns_.is_suspect_out(run)) {
      job.suspect = false;
      turns_.leave(run, clock_.monotonic());
    }
    if (job.state.job.status == core::JobStatus::running) return jobs_.idle(job);
    return forget(run);
  }
  make_ready(job);
}

// The store will never take this bundle: the job stops and says so. If even that is refused, it stays out
// of memory and the operator reads why.
void Engine::reject(HotJob& job, const std::string& reason) {
  const RunId run = job.state.job.run;
  events_.problem(format("job {}: the store rejected its bundle: {}", job.state.job.id.raw(), reason));
  const auto stored = store_.read_job(run);
  if (!stored && stored.error().code == ErrorCode::corrupt) return damaged(run, stored.error().detail);
  const bool can_park = stored && *stored && (*stored)->state.job.status == core::JobStatus::running &&
                        job.state.job.reason != reason;
  if (!can_park) return forget(run);
  job.state = (*stored)->state;
  job.state.job.reason = reason;  // remembered here only: a second rejection for the same reason ends it
  core::Bundle bundle = core::park(job.state, reason, decide_options(run));
  job.decision = core::Decision{};
  launch(job, std::move(bundle));
}

void Engine::give_back_slots(const core::Bundle& bundle) {
  for (const core::Write& write : bundle.writes)
    if (const auto* work = std::get_if<core::PutWork>(&write))
      if (work->item.token != core::WorkToken(0)) desk_.give_slot(need_of(work->item));
}

// Takes a lost lane's bundles and claims out of a group that was not sent: its jobs are forgotten, and when
// they are read again a second bundle for the same rev must not meet the first.
void Engine::withdraw(Group& group, core::LaneId lane) {
  Group kept;
  kept.asked_at = group.asked_at;
  for (std::size_t i = 0; i < group.operations.size(); ++i) {
    const auto* bundle = std::get_if<core::Bundle>(&group.operations[i]);
    const auto* claim = std::get_if<store::ClaimItem>(&group.operations[i]);
    if (bundle != nullptr && core::lane_of(bundle->entity) == lane) {
      give_back_slots(*bundle);
    } else if (claim != nullptr && core::lane_of(claim->run) == lane) {
      desk_.claim_failed(WorkRef{claim->run, claim->activity});
    } else {
      kept.add(std::move(group.operations[i]), group.tickets[i]);
    }
  }
  group = std::move(kept);
}

void Engine::settle_submit(const store::Submit& submit, const store::Outcome& outcome, Ticket ticket) {
  switch (outcome.kind) {
    case OutcomeKind::committed: break;
    case OutcomeKind::already_done:
    case OutcomeKind::exists:
      // Perhaps by an earlier try of ours whose reply was lost: then its start message has no taker yet.
      if (lanes_.owns(submit.lane, clock_.monotonic()) && jobs_.find(outcome.run) == nullptr) load(outcome.run, {});
      return events_.submitted(ticket, Submitted{outcome.run, false});
    case OutcomeKind::outcome_unknown:
      // If it was accepted, its start message waits in the store and nobody will hand it over.
      if (lanes_.owns(submit.lane, clock_.monotonic()) && !seeded(SeededBug::no_safety_net)) scan(submit.lane, false);
      return events_.submitted(
          ticket, Error{ErrorCode::outcome_unknown, "the job may have been accepted; look it up by its id"});
    case OutcomeKind::conflict:
    case OutcomeKind::fenced:
    case OutcomeKind::over_limit:
    case OutcomeKind::rejected: return events_.submitted(ticket, Error{ErrorCode::invalid, outcome.reason});
  }
  events_.submitted(ticket, Submitted{outcome.run, true});
  if (!lanes_.owns(submit.lane, clock_.monotonic())) return;
  if (outcome.replaced != RunId(0)) look(outcome.replaced);
  using DueKind = store::Due::Kind;
  if (submit.deadline != Instant())
    arm(store::Due{submit.deadline, outcome.run, DueKind::message, core::deadline_guid(outcome.run)});
  if (submit.start_at != Instant()) {
    const core::Guid start = core::start_message(outcome.run, {}).guid;
    return arm(store::Due{submit.start_at, outcome.run, DueKind::message, start});
  }
  if (jobs_.find(outcome.run) != nullptr) return;  // a scan was faster
  auto graph = graphs_.find(submit.graph);
  if (graph == nullptr) return;
  core::JobState state;
  state.job.run = outcome.run;
  state.job.name_space = submit.name_space;
  state.job.id = submit.id;
  state.job.graph = submit.graph;
  state.job.created_at = submit.at;
  state.job.priority = submit.priority;
  state.job.keep = submit.keep;
  state.job.deadline = submit.deadline;
  state.job.secret = submit.secret;
  HotJob& job = jobs_.add(std::move(state), std::move(graph));
  job.queue.push_back(core::Delivery{core::start_message(outcome.run, submit.input), core::Origin::memory});
  make_ready(job);
}

void Engine::settle_claim(const store::ClaimItem& claim, store::Outcome outcome) {
  const WorkRef ref{claim.run, claim.activity};
  const core::LaneId lane = core::lane_of(claim.run);
  const bool owned = lanes_.owns(lane, clock_.monotonic());
  if (outcome.kind == OutcomeKind::committed && outcome.items.size() == 1 && owned) {
    const core::WorkItem& item = outcome.items.front();
    if (HotJob* job = jobs_.find(claim.run)) job->state.put(item);
    hand_out(item);
    return arm_changed(item);
  }
  const WorkNeed need = desk_.claim_failed(ref);
  if (outcome.kind == OutcomeKind::fenced && claim.epoch == lanes_.epoch(lane)) {
    lane_taken(lane);
  } else if (owned) {
    look_again(ref, claim.before, need);
  }
}

// What was given back waits again, here or at whoever owns the job next.
void Engine::settle_release(const store::ReleaseWork& release, const store::Outcome& outcome) {
  const core::LaneId lane = core::lane_of(release.run);
  const bool owned = lanes_.owns(lane, clock_.monotonic()) && release.epoch == lanes_.epoch(lane);
  if (outcome.kind == OutcomeKind::outcome_unknown && owned) return push(release);  // it may be said twice
  if (outcome.kind == OutcomeKind::fenced && owned) return lane_taken(lane);
  if (!owned || stopping_) return;
  fire_work(store::Due{clock_.now(), release.run, store::Due::Kind::work, core::Guid{}, release.activity});
}

void Engine::settle_lane(core::LaneId lane, const store::Outcome& outcome, bool acquired, Duration asked_at) {
  const Duration now = clock_.monotonic();
  switch (outcome.kind) {
    case OutcomeKind::committed:
    case OutcomeKind::already_done:
      if (acquired) {
        lanes_.acquired(lane, outcome.epoch, asked_at, outcome.lease_until.has_value());
        read_paused_topics();
        if (!seeded(SeededBug::outbox_left_behind)) outboxes_.insert(lane);
        for (const WorkRun& run : desk_.runs_in(lane)) runs_in_doubt_.push_back(run);
        return scan(lane, true);
      }
      if (!lanes_.owns(lane, now) && !seeded(SeededBug::late_renewal_trusted)) {
        // The reply came after our time: we dropped answers meanwhile as if the lane were another's.
        lane_lost(lane);
        lanes_.renewed(lane, asked_at);
        outboxes_.insert(lane);
        for (const WorkRun& run : desk_.runs_in(lane)) runs_in_doubt_.push_back(run);
        return scan(lane, true);
      }
      lanes_.renewed(lane, asked_at);
      if (seeded(SeededBug::no_safety_net)) return;
      // The safety net: whoever delivers, claims or resumes a topic through another node may die before it rings
      // our bell.
      due_of(lane).forget_horizon();
      return scan(lane, read_paused_topics());
    case OutcomeKind::outcome_unknown:
      lane_lost(lane);
      lanes_.lost(lane, now);
      return lanes_.ask_again(lane);
    case OutcomeKind::exists:
    case OutcomeKind::conflict:
    case OutcomeKind::fenced:
    case OutcomeKind::over_limit:
    case OutcomeKind::rejected:
      return lane_taken(lane);
  }
}

}  // namespace pawl::runtime
