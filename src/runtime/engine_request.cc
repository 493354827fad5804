// Engine: what workers and callers ask beyond answers: heartbeats, later answers, probes, and requests that a
// caller waits for.
#include <algorithm>
#include <utility>

#include "base/invariant.h"
#include "runtime/bytes.h"
#include "runtime/engine.h"

namespace pawl::runtime {

using store::OutcomeKind;

void Engine::request(store::Operation operation, Ticket ticket) {
  if (retry_)
    return events_.answered(ticket, Error{ErrorCode::retry_later,
                                          "the store takes no writes at the moment, try again: " + retry_reason_});
  if (!has_room() && bytes_of(operation) > limits::light_request_bytes)
    return events_.answered(ticket, Error{ErrorCode::retry_later, no_room(options_.bytes_max.waiting)});
  push(std::move(operation), ticket);
}

void Engine::heartbeat(const WorkRun& run, Payload progress) {
  if (!desk_.is_running(run.ref, run.token)) return events_.cancel(run);
  clocks_.beat(run, clock_.monotonic());
  if (!lanes_.owns(core::lane_of(run.ref.run), clock_.monotonic())) return;
  // One at a time: of those that come meanwhile only the last one counts. A bare beat unsays nothing.
  const auto [out, is_new] = beats_.try_emplace(run, std::nullopt);
  if (!is_new) {
    if (!out->second || !progress.empty()) out->second = std::move(progress);
    return;
  }
  store::ExtendWork extend{run.ref.run, run.ref.activity, run.token};
  if (!progress.empty()) extend.progress = std::move(progress);
  push(std::move(extend));
}

void Engine::detach(const WorkRun& run, Duration lease) {
  const std::optional<Duration> left = clocks_.attempt_left(run, clock_.monotonic());
  const WorkDesk::Ended ended = desk_.end(run.ref, run.token);
  clocks_.end(run);
  if (ended == WorkDesk::Ended::unknown) return;
  if (ended == WorkDesk::Ended::abandoned || !lanes_.owns(core::lane_of(run.ref.run), clock_.monotonic())) return;
  detaching_.insert(run.ref);
  store::ExtendWork extend{run.ref.run, run.ref.activity, run.token, lease};
  extend.detach = true;
  extend.attempt_left = left;
  push(std::move(extend));
}

void Engine::settle_extend(const store::ExtendWork& extend, const store::Outcome& outcome) {
  const WorkRun run{WorkRef{extend.run, extend.activity}, extend.token};
  if (extend.detach && outcome.kind == OutcomeKind::outcome_unknown) return push(extend);  // it may be said twice
  if (extend.detach) detaching_.erase(run.ref);
  std::optional<Payload> next;
  if (const auto beat = beats_.find(run); beat != beats_.end()) {
    next = std::move(beat->second);
    beats_.erase(beat);
  }
  if (outcome.done() && !outcome.items.empty()) {
    const core::WorkItem& item = outcome.items.front();
    if (HotJob* job = jobs_.find(extend.run)) job->state.put(item);
    if (lanes_.owns(core::lane_of(extend.run), clock_.monotonic())) arm_changed(item);
  }
  if (outcome.kind == OutcomeKind::conflict) return events_.cancel(run);
  if (next) heartbeat(run, std::move(*next));
}

void Engine::offer_probe(const Topic& topic) {
  if (probes_.insert(topic.raw()).second) scan_work();  // runs of this topic may have been in doubt
}

void Engine::probed(ProbeAnswer answer) {
  if (answer.kind == ProbeAnswer::Kind::cannot_tell) return;  // it stays unknown until a person settles it
  using Kind = core::Verdict::Kind;
  core::Verdict verdict{answer.activity, Kind::done, answer.code, std::move(answer.data)};
  if (answer.kind == ProbeAnswer::Kind::failed) verdict.kind = Kind::failed;
  if (answer.kind == ProbeAnswer::Kind::not_done) verdict.kind = Kind::retry;
  if (!lanes_.owns(core::lane_of(answer.run), clock_.monotonic())) return;
  const core::Guid guid = answer.request.derive(core::Guid::Purpose::verdict, answer.runs);
  deliver(answer.run, core::Delivery{core::Message{guid, std::move(verdict)}, core::Origin::unstored});
}

void Engine::settle_request(const store::Operation& operation, const store::Outcome& outcome) {
  if (const auto* extend = std::get_if<store::ExtendWork>(&operation)) {
    settle_extend(*extend, outcome);
  } else if (const auto* release = std::get_if<store::ReleaseWork>(&operation)) {
    settle_release(*release, outcome);
  } else if (const auto* deliver = std::get_if<store::Deliver>(&operation)) {
    arrived(deliver->envelope.to, outcome.run, deliver->envelope.message, outcome.kind);
  } else if (const auto* respond = std::get_if<store::Respond>(&operation)) {
    hand_over(respond->run, respond->message, outcome.kind);
  } else if (const auto* remove = std::get_if<store::RemoveJob>(&operation)) {
    if (outcome.kind == OutcomeKind::outcome_unknown)
      return arm(store::Due{clock_.now(), remove->run, store::Due::Kind::removal});
    if (outcome.done() && remove->key_until != Instant())
      arm(store::Due{remove->key_until, remove->run, store::Due::Kind::key});
  } else if (std::holds_alternative<store::DropKeys>(operation)) {
    if (outcome.kind == OutcomeKind::outcome_unknown) push(store::DropKeys{clock_.now()});
  } else if (std::holds_alternative<store::PauseTopic>(operation)) {
    topics_changed();
  }
}

// A message that this engine stored for a caller: its job need not be read again, unless a scan was faster.
void Engine::hand_over(RunId run, const core::Message& message, OutcomeKind kind) {
  if (!lanes_.owns(core::lane_of(run), clock_.monotonic())) return;
  HotJob* job = jobs_.find(run);
  if (kind == OutcomeKind::committed && job != nullptr) {
    const auto is_it = [&](const core::Delivery& delivery) { return delivery.message.guid == message.guid; };
    if (std::any_of(job->queue.begin(), job->queue.end(), is_it)) return;
    if (job->look_again) return;  // read with all that came before it
    const auto stored = store_.read_message(run, message.guid);
    if (!stored) return look(run);
    if (!*stored) return;  // served already
    job->queue.push_back(core::Delivery{message, core::Origin::memory});
    make_ready(*job);
  } else if (kind == OutcomeKind::committed || kind == OutcomeKind::already_done || kind == OutcomeKind::outcome_unknown) {
    look(run);
  }
}

// Something may wait in this job's inbox.
void Engine::look(RunId run) {
  if (unread_.contains(run) || blocked_.contains(run)) return;
  HotJob* job = jobs_.find(run);
  if (job == nullptr) {
    load(run, {});
  } else if (job->in_flight) {
    job->look_again = true;
  } else {
    if (!merge_inbox(*job)) return set_aside(*job);
    make_ready(*job);
  }
}

bool Engine::read_paused_topics() {
  const auto topics = store_.read_paused_topics();
  topics_unread_ = !topics;
  if (!topics) return false;
  std::unordered_set<std::string> before;
  for (const Topic& topic : *topics) before.insert(topic.raw());
  std::swap(before, paused_topics_);
  return std::any_of(before.begin(), before.end(),
                     [this](const std::string& topic) { return !paused_topics_.contains(topic); });
}

}  // namespace pawl::runtime
