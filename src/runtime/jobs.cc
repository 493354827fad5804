// Jobs: from a delivery to the bundle that is sent.
#include "runtime/jobs.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "base/format.h"
#include "runtime/bytes.h"
#include "runtime/parts.h"

namespace pawl::runtime {

void Jobs::deliver(OwnedLane& lane, RunId run, core::Delivery delivery) {
  if (const auto waiting = lane.unread.find(run); waiting != lane.unread.end()) {
    waiting->second.deliveries.push_back(std::move(delivery));
    return;
  }
  HotJob* job = hot_.find(run);
  if (job == nullptr) {
    std::vector<core::Delivery> deliveries;
    deliveries.push_back(std::move(delivery));
    parts_.loader.load(lane, run, std::move(deliveries));
    return;
  }
  job->queue.push_back(std::move(delivery));
  make_ready(*job);
}

void Jobs::make_ready(HotJob& job) { turns_.stand(job, parts_.clock.monotonic()); }

namespace {

bool has_unstored(const HotJob& job) {
  return std::any_of(job.queue.begin(), job.queue.end(),
                     [](const core::Delivery& delivery) { return delivery.origin == core::Origin::unstored; });
}

// A stopping engine finishes what only it has, replies of local workers, and a few turns of what follows from them. The
// rest is stored and waits for the next start: a job that never pauses would prevent the stop.
bool may_decide_last(HotJob& job) { return has_unstored(job) || job.last_turns++ < limits::last_turns_max; }

// A signal to all jobs with a label is decided over a page of them.
const core::Delivery* without_page(const HotJob& job) {
  for (const core::Delivery& delivery : job.queue)
    if (std::holds_alternative<core::Expand>(delivery.message.body) && !delivery.page) return &delivery;
  return nullptr;
}

}  // namespace

void Jobs::submit(store::Submit submit, const std::shared_ptr<const Graph>& graph, Ticket ticket) {
  OwnedLane* lane = parts_.lanes.mine(submit.lane);
  if (lane == nullptr) return parts_.outgoing.push(std::move(submit), ticket);
  const RunId run = lane->next_run.expect();
  const bool starts_now = submit.start_at == Instant() && parts_.options.fusion == core::Fusion::on;
  const bool together = run != RunId(0) && starts_now && !lane->giving && parts_.store.takes_first_steps() &&
                        parts_.outgoing.takes_bundles() && hot_.find(run) == nullptr && !lane->unread.contains(run);
  submit.expected = run;
  if (!together) return parts_.outgoing.push(std::move(submit), ticket);
  HotJob& job = open(submit, run, graph);
  hot_.weigh(job);
  parts_.outgoing.push(std::move(submit), ticket);
  decide(job, With::submit);
}

// A local store begins with the first ones while the next ones are decided; calls to a remote one are larger.
void Jobs::decide_ready() {
  const std::size_t most = parts_.options.reads_later ? std::numeric_limits<std::size_t>::max()
                                                      : parts_.outgoing.waiting() + limits::bundles_per_turn_max;
  while (parts_.outgoing.takes_bundles() && parts_.outgoing.waiting() < most) {
    HotJob* job = turns_.next(parts_.clock.monotonic());
    if (job == nullptr) break;
    if (!parts_.stopping || may_decide_last(*job)) decide(*job);
  }
}

void Jobs::decide(HotJob& job, With with) {
  const RunId run = job.state.job.run;
  OwnedLane* lane = parts_.lanes.mine(run);
  if (lane == nullptr) return forget(run);
  if (lane->giving && !has_unstored(job)) return forget(run);  // its next owner decides
  if (const core::Delivery* signal = without_page(job)) return parts_.loader.read_labelled(*lane, job, *signal);
  const auto count = parts_.transactions.left_to_decide(*lane, job);
  if (!count) return;  // the job may be forgotten: it must not be looked at
  if (*count == 0 && !job.queue.empty()) return;
  core::DecideOptions options = parts_.decide_options(*lane);
  options.steps_max = turns_.steps_for(job, parts_.clock.monotonic());
  job.decision = core::decide(job.state, *job.graph, std::span(job.queue).first(*count), options);
  job.goes_on = job.decision.goes_on;
  if (!job.decision.bundle) {
    // Nothing to write: the finished deliveries (late replies) are dropped, and a parked job keeps its messages in the
    // store.
    job.drop_done();
    if (core::is_stopped(job.state.job.status)) job.queue.clear();
    return rest(job);
  }
  core::Bundle bundle = std::move(*job.decision.bundle);
  job.decision.bundle.reset();
  bundle.with_submit = with == With::submit;
  if (!lane->giving) parts_.workshop.claim_for_workers(bundle);
  launch(job, std::move(bundle));
}

void Jobs::queue(HotJob& job, core::Delivery delivery) {
  if (core::entries_before(job.state, delivery) >= limits::reentries_in_groups_max) job.suspect = true;
  job.queue.push_back(std::move(delivery));
}

void Jobs::hold(HotJob& job) {
  hot_.use(job);
  job.ready = false;
  job.in_flight = true;
  job.bundle = core::BundleId(0);
}

void Jobs::begin_lookup(HotJob& job) {
  ++job.lookups;
  hot_.use(job);
}

void Jobs::end_lookup(RunId run) {
  HotJob* job = hot_.find(run);
  if (job == nullptr || job->lookups == 0) return;  // forgotten meanwhile, and perhaps read again
  if (--job->lookups == 0 && !job->in_flight && !job->ready && job->queue.empty()) rest(*job);
}

HotJob* Jobs::release(RunId run) {
  HotJob* job = hot_.find(run);
  if (job == nullptr || !job->is_held()) return nullptr;
  job->in_flight = false;
  return job;
}

void Jobs::launch(HotJob& job, core::Bundle bundle, std::shared_ptr<store::OpenTransaction> transaction) {
  job.in_flight = true;
  job.bundle = bundle.id;
  ++job.launches;
  job.forget_timers();
  parts_.bundles.launch(std::move(bundle), std::move(transaction));
}

void Jobs::park(OwnedLane& lane, HotJob& job, std::string reason) {
  core::Bundle bundle = core::park(job.state, std::move(reason), parts_.decide_options(lane));
  job.decision = core::Decision{};
  job.ready = false;
  hot_.use(job);
  launch(job, std::move(bundle));
}

void Jobs::stamp_ends(Group& group) {
  const Instant now = parts_.clock.now();
  for (store::Operation& operation : group.operations) {
    auto* bundle = std::get_if<core::Bundle>(&operation);
    auto* head = bundle == nullptr ? nullptr : std::get_if<core::JobHead>(&bundle->head);
    if (head == nullptr || !core::is_closed(head->status) || head->closed_at >= now) continue;
    const HotJob* job = hot_.find(bundle->entity);
    if (job == nullptr || job->bundle != bundle->id || core::is_closed(job->state.job.status)) continue;
    if (head->remove_at != job->state.job.remove_at) head->remove_at = head->remove_at + (now - head->closed_at);
    head->closed_at = now;
  }
}

void Jobs::set_aside(HotJob& job) {
  const RunId run = job.state.job.run;
  auto unstored = take_unstored(job);
  parts_.far_replies.take_out(run, unstored);
  forget(run);
  // Later messages must not be served before the one that could not be read, so they must not stay in memory either.
  if (OwnedLane* lane = parts_.lanes.mine(run))
    lane->unread[run].deliveries = std::move(unstored);
  else
    parts_.workshop.abandon(run, unstored);
}

void Jobs::forget(RunId run) {
  if (const HotJob* job = hot_.find(run)) parts_.workshop.abandon(run, job->queue);
  hot_.erase(run);
  turns_.leave(run, parts_.clock.monotonic());
}

void Jobs::forget_lane(core::LaneId lane) {
  for (const RunId run : hot_.of_lane(lane)) forget(run);
}

bool Jobs::put_away(core::LaneId lane) {
  bool all = true;
  for (const RunId run : hot_.of_lane(lane)) {
    const HotJob& job = *hot_.find(run);
    if (job.in_flight || has_unstored(job))
      all = false;
    else
      forget(run);
  }
  return all;
}

std::vector<core::Delivery> Jobs::take_unstored(HotJob& job) {
  std::vector<core::Delivery> unstored;
  for (core::Delivery& delivery : job.queue)
    if (delivery.origin == core::Origin::unstored) unstored.push_back(std::move(delivery));
  job.queue.clear();
  return unstored;
}

}  // namespace pawl::runtime
