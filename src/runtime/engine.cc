#include "runtime/engine.h"

#include <algorithm>
#include <utility>

#include "base/format.h"
#include "base/invariant.h"
#include "base/seeded_bug.h"
#include "runtime/bytes.h"
#include "runtime/parts.h"
#include "store/domain.h"

namespace pawl::runtime {

using store::OutcomeKind;

namespace {

constexpr Duration try_again_after = std::chrono::milliseconds(20);  // after a failed read or delivery

}  // namespace

Engine::Engine(EngineOptions options, store::PoolInfo pool, store::Store& store, const Clock& clock,
               const GraphCatalog& graphs, EngineEvents& events)
    : parts_(std::make_unique<Parts>(std::move(options), pool, store, clock, graphs, events)) {}

Engine::~Engine() = default;

void Engine::submit(SubmitRequest request, Ticket ticket) {
  Parts& p = *parts_;
  const auto graph = request.version ? p.graphs.find(*request.version) : p.graphs.newest(request.graph);
  const auto refuse = [&](ErrorCode code, std::string why) { p.events.submitted(ticket, Error{code, std::move(why)}); };
  if (p.stopping) return refuse(ErrorCode::retry_later, "this engine is stopping");
  if (p.outgoing.waiting() >= limits::submits_waiting_max)
    return refuse(ErrorCode::retry_later,
                  format("{} submits wait already (submits_waiting_max)", limits::submits_waiting_max));
  if (!p.has_room()) return refuse(ErrorCode::retry_later, no_room(p.options.bytes_max.waiting));
  if (graph == nullptr)
    return refuse(ErrorCode::not_found, format("no graph named {} is deployed", request.graph.raw()));
  const core::LaneId lane = lane_for(request.name_space, request.id.raw());
  if (seeded(SeededBug::ack_before_commit)) p.events.submitted(ticket, Submitted{core::make_run(lane, 1), true});
  const Instant now = p.clock.now();
  store::Submit submit{std::move(request.name_space),
                       std::move(request.id),
                       lane,
                       ref_of(*graph),
                       std::move(request.input),
                       now,
                       request.reuse};
  if (request.delay.count() != 0) submit.start_at = now + request.delay;
  if (request.end_within.count() != 0) submit.deadline = now + request.delay + request.end_within;
  submit.keep = request.keep;
  submit.priority = request.priority;
  submit.secret = request.secret;
  submit.follows = request.follows;
  store::Operation operation = std::move(submit);
  if (const std::string* why = p.outgoing.refusal_of(operation))
    return refuse(ErrorCode::retry_later, format("the store takes no writes at the moment, try again: {}", *why));
  p.jobs.submit(std::get<store::Submit>(std::move(operation)), graph, ticket);
}

void Engine::request(store::Operation operation, Ticket ticket) {
  Parts& p = *parts_;
  if (const std::string* why = p.outgoing.refusal_of(operation))
    return p.events.answered(
        ticket, Error{ErrorCode::retry_later, "the store takes no writes at the moment, try again: " + *why});
  if (!p.has_room() && bytes_of(operation) > limits::light_request_bytes)
    return p.events.answered(ticket, Error{ErrorCode::retry_later, no_room(p.options.bytes_max.waiting)});
  auto* reply = std::get_if<store::DeliverReply>(&operation);
  if (reply != nullptr && p.far_replies.take(*reply, ticket)) return;
  if (p.mailboxes.may_be_damaged(operation))
    p.mailboxes.push_if_readable(std::move(operation), ticket);
  else
    p.outgoing.push(std::move(operation), ticket);
}

void Engine::changed(const store::Change& change) {
  if (change.lanes) parts_->shares.lanes_changed();
  if (change.graphs) graphs_changed();
  if (change.topics) parts_->workshop.topics_changed();
  if (change.times) parts_->alarms.look_again();
  if (change.outboxes) parts_->post.look_again();
  if (change.inboxes || change.work) parts_->loader.scan_all(change.work);
  parts_->loader.look_soon(change.runs);
}

void Engine::ownership_changed() {
  LaneTable& table = parts_->lanes.table();
  for (const core::LaneId lane : table.all())
    if (!table.owns(lane, parts_->clock.monotonic())) table.ask_again(lane);
}

void Engine::tick() {
  Parts& p = *parts_;
  p.shares.tick();
  p.workshop.tick();
  p.alarms.tick();
  p.loader.tick();
  p.workshop.end_clocks();
}

void Engine::stop() {
  parts_->stopping = true;
  parts_->jobs.stop();
  parts_->shares.stop();
}

void Engine::release_lanes() {
  for (const OwnedLane* lane : parts_->lanes.all_mine())
    parts_->outgoing.push(store::ReleaseLane{lane->id, lane->epoch});
  parts_->shares.leave();
}

void Engine::pump() {
  Parts& p = *parts_;
  p.lanes.end_turn();
  p.workshop.look_for_overflow();
  p.loader.look_around();
  p.workshop.look_at_runs();
  p.alarms.fire_due();
  p.alarms.look_ahead();
  p.post.deliver_outboxes();
  p.mailboxes.read_waiting();
  p.workshop.park_overrun();
  p.jobs.decide_ready();
  p.workshop.claim_waiting();
}

std::optional<Group> Engine::take_group() {
  auto group = parts_->outgoing.take();
  if (group) parts_->jobs.stamp_ends(*group);
  return group;
}

std::optional<Group> Engine::take_group_with_transaction() {
  auto group = parts_->outgoing.take_with_transaction();
  if (group) parts_->jobs.stamp_ends(*group);
  return group;
}

bool Engine::hold_for_transaction(RunId run) { return parts_->transactions.hold(run); }
void Engine::transaction_is_over(RunId run) { parts_->transactions.release(run); }

void Engine::finished(Group group, Result<std::vector<store::Outcome>> result) {
  Parts& p = *parts_;
  p.jobs.committed_in(p.clock.monotonic() - group.asked_at);
  std::optional<std::vector<store::Outcome>> outcomes;
  if (group.transaction == nullptr) {
    const std::optional<Error> error = result ? std::nullopt : std::optional(result.error());
    outcomes = p.outgoing.finished(group, std::move(result));
    if (!outcomes && error) p.far_replies.refuse(*error);
  } else {
    p.outgoing.finished_with_transaction(group);
    if (auto outcome = p.transactions.came_back(group, result)) outcomes.emplace().push_back(std::move(*outcome));
  }
  if (!outcomes) return p.jobs.submits_refused();
  // An operation with an unknown outcome may have set times that this engine does not know: the removal of a job, a
  // delayed start.
  const auto is_unknown = [](const store::Outcome& one) { return one.kind == OutcomeKind::outcome_unknown; };
  if (std::any_of(outcomes->begin(), outcomes->end(), is_unknown)) p.alarms.look_again();
  for (std::size_t i = 0; i < group.operations.size(); ++i) tell(group.operations[i], (*outcomes)[i]);
  for (std::size_t i = 0; i < group.operations.size(); ++i)
    settle(group.operations[i], std::move((*outcomes)[i]), group.tickets[i], group.asked_at);
}

std::size_t Engine::reads_waiting() const { return parts_->reads.waiting(); }

std::optional<ReadBatch> Engine::take_reads() { return parts_->reads.take(); }

void Engine::answered(ReadBatch batch, std::vector<store::ReadAnswer> answers) {
  parts_->reads.answered(std::move(batch), std::move(answers));
}

// The owner of the operation's lane is notified of the change; for its own lanes this engine needs no notification.
void Engine::tell(const store::Operation& operation, const store::Outcome& outcome) {
  const store::Domain domain = store::domain_of(operation);
  // A lane that is given back, and a topic that is resumed in the last lane, concern all engines.
  const bool of_all =
      std::holds_alternative<store::ReleaseLane>(operation) || std::holds_alternative<store::PauseTopic>(operation);
  const bool is_mine = domain.kind == store::Domain::Kind::lane && parts_->lanes.mine(domain.lane) != nullptr;
  if (is_mine && !of_all) return;
  store::Change change = store::changed_by({&operation, 1}, {&outcome, 1});
  change.inboxes = change.inboxes || outcome.kind == OutcomeKind::outcome_unknown;
  if (!change.empty()) parts_->events.ring(domain.lane, change);
}

std::optional<Duration> Engine::next_wake() const {
  const Parts& p = *parts_;
  const Duration now = p.clock.monotonic();
  std::optional<Duration> wake = p.shares.next_wake();
  const auto sooner = [&](std::optional<Duration> at) {
    if (at && (!wake || *at < *wake)) wake = at;
  };
  sooner(p.outgoing.next_wake());
  sooner(p.jobs.next_wake());
  sooner(p.workshop.next_wake());
  if (!p.stopping && p.may_find_more() && p.loader.waits_for_more()) sooner(now);
  // Reads and scans that failed are repeated.
  bool again = p.loader.must_try_again() || p.alarms.must_try_again() || p.workshop.must_try_again() ||
               p.post.must_try_again() || p.mailboxes.must_try_again();
  // Without room nothing is scanned: the commit that makes room wakes the engine.
  if (!p.stopping && p.has_room()) {
    again = again || p.alarms.wants_page();
    for (const auto& next : {p.alarms.next(), p.alarms.next_look_ahead()})
      if (next) sooner(now + std::max(*next - p.clock.now(), Duration{0}));
  }
  if (again) sooner(now + try_again_after);
  return wake;
}

bool Engine::has_due() const { return parts_->alarms.has_due(); }

bool Engine::has_ready() const { return parts_->jobs.has_ready() && parts_->outgoing.takes_bundles(); }

bool Engine::drained() const {
  const Parts& p = *parts_;
  return p.outgoing.empty() && p.reads.empty() && p.jobs.waiting() == 0 && p.loader.empty() &&
         p.workshop.running() == 0;
}

namespace {

// The run whose work the operation hands out or takes away.
RunId work_of(const store::Operation& operation) {
  return std::visit(
      Overloaded{
          [](const core::Bundle& bundle) { return bundle.entity; },
          [](const store::ClaimItem& claim) { return claim.run; },
          [](const store::ExtendWork& extend) { return extend.run; },
          [](const store::ReleaseWork& release) { return release.run; },
          [](const store::DeliverReply& delivery) { return delivery.run; },
          each_of<store::Submit, store::Deliver, store::ClaimWork, store::DropOutbox, store::OpenPool,
                  store::AcquireLane, store::RenewLane, store::ReleaseLane, store::BeatEngine, store::LeaveEngine,
                  store::RemoveJob, store::DropKeys, store::PauseTopic, store::PutApp, store::ActivateApp>(
              [] { return RunId(0); }),
      },
      operation);
}

}  // namespace

void Engine::settle(store::Operation& operation, store::Outcome outcome, Ticket ticket, Duration asked_at) {
  Parts& p = *parts_;
  p.reads.touched(work_of(operation));
  const bool refused_signal = outcome.done() && !outcome.reason.empty();
  const auto asked = [&] {
    if (refused_signal && std::holds_alternative<store::Deliver>(operation)) p.events.problem(outcome.reason);
    settle_asked(operation, outcome);
    if (ticket != 0) p.events.answered(ticket, std::move(outcome));
  };
  std::visit(Overloaded{
                 [&](core::Bundle& bundle) {
                   if (refused_signal) p.events.problem(outcome.reason);
                   p.bundles.settle(bundle, outcome);
                 },
                 [&](const store::Submit& submit) { p.jobs.settle_submit(submit, outcome, ticket); },
                 [&](const store::ClaimItem& claim) { p.workshop.settle_claim(claim, std::move(outcome)); },
                 [&](const store::AcquireLane& acquire) { settle_acquired(acquire.lane, outcome, asked_at); },
                 [&](const store::RenewLane& renew) { settle_renewed(renew.lane, outcome, asked_at); },
                 [&](const store::ReleaseLane& release) { p.shares.settle_release(release, outcome); },
                 [&](const store::BeatEngine& beat) { p.shares.settle_beat(beat, outcome); },
                 [&](const store::DropOutbox& drop) { p.post.settle_outbox(drop, outcome); },
                 each_of<store::Deliver, store::DeliverReply, store::ClaimWork, store::ExtendWork, store::ReleaseWork,
                         store::OpenPool, store::LeaveEngine, store::RemoveJob, store::DropKeys, store::PauseTopic,
                         store::PutApp, store::ActivateApp>(asked),
             },
             operation);
}

// What a caller or a worker requested.
void Engine::settle_asked(const store::Operation& operation, const store::Outcome& outcome) {
  Parts& p = *parts_;
  const bool unknown = outcome.kind == OutcomeKind::outcome_unknown;
  std::visit(
      Overloaded{
          [&](const store::ExtendWork& extend) { p.workshop.settle_extend(extend, outcome); },
          [&](const store::ReleaseWork& release) { p.workshop.settle_release(release, outcome); },
          [&](const store::Deliver& deliver) {
            if (deliver.source) p.post.settle_delivery(deliver, outcome);
            p.post.arrived(deliver.envelope.to, outcome.run(), deliver.envelope.message, outcome.kind);
          },
          [&](const store::DeliverReply& delivery) { p.post.hand_over(delivery.run, delivery.message, outcome.kind); },
          [&](const store::RemoveJob& remove) {
            OwnedLane* lane = p.lanes.mine(remove.run);
            if (lane == nullptr) return;  // its next owner reads what is due
            if (unknown)
              p.alarms.arm(*lane, store::Due{p.clock.now(), remove.run, store::Due::Kind::removal});
            else if (outcome.done() && remove.key_until != Instant())
              p.alarms.arm(*lane, store::Due{remove.key_until, remove.run, store::Due::Kind::key});
          },
          [&](const store::DropKeys& drop) {
            if (unknown) p.outgoing.push(store::DropKeys{p.clock.now(), drop.rows_max, drop.lane});
          },
          [&](const store::PauseTopic&) { p.workshop.topics_changed(); },
          [&](const store::ClaimWork&) { p.workshop.taken_elsewhere(outcome.items()); },
          each_of<store::OpenPool, store::LeaveEngine, store::PutApp, store::ActivateApp>([] {}),
          each_of<core::Bundle, store::Submit, store::ClaimItem, store::AcquireLane, store::RenewLane,
                  store::ReleaseLane, store::BeatEngine, store::DropOutbox>(
              [] { invariant(false, "settled by who made it"); }),
      },
      operation);
}

// From now on this engine acts for the lane: it looks for waiting messages and work there.
void Engine::begin_lane(core::LaneId lane, core::Epoch epoch) {
  OwnedLane& owned = parts_->lanes.take(lane, epoch);
  if (seeded(SeededBug::outbox_left_behind)) owned.outbox = false;
  parts_->workshop.doubt_runs(lane);
  parts_->loader.scan(owned, true);
}

void Engine::settle_acquired(core::LaneId lane, const store::Outcome& outcome, Duration asked_at) {
  if (!outcome.done()) return lane_refused(lane, outcome.kind);
  parts_->lanes.table().acquired(lane, outcome.epoch(), asked_at, outcome.lease_until().has_value());
  parts_->shares.tell_soon();
  parts_->workshop.topics_changed();
  begin_lane(lane, outcome.epoch());
  OwnedLane* owned = parts_->lanes.mine(lane);
  if (owned != nullptr && outcome.next_run() != RunId(0)) owned->next_run.run = outcome.next_run();
}

void Engine::settle_renewed(core::LaneId lane, const store::Outcome& outcome, Duration asked_at) {
  Parts& p = *parts_;
  if (!outcome.done()) return lane_refused(lane, outcome.kind);
  OwnedLane* owned = p.lanes.mine(lane);
  p.lanes.table().renewed(lane, asked_at);
  if (owned == nullptr && !seeded(SeededBug::late_renewal_trusted)) {
    // The reply came after the lease had expired here: meanwhile replies of workers were dropped as if another engine
    // owned the lane.
    p.lane_lost(lane);
    return begin_lane(lane, p.lanes.table().epoch(lane));
  }
  if (seeded(SeededBug::no_safety_net) || !p.options.looks_with_renewals) return;
  // In case a notification was lost: another node that delivers, claims or resumes a topic may crash before it sends
  // one.
  owned = p.lanes.mine(lane);
  if (owned == nullptr) return;
  owned->due.forget_horizon();
  if (!seeded(SeededBug::outbox_left_behind)) owned->outbox = true;
  p.loader.scan(*owned, false);
  p.workshop.topics_changed();
}

void Engine::lane_refused(core::LaneId lane, OutcomeKind kind) {
  if (kind != OutcomeKind::outcome_unknown) return parts_->lane_taken(lane);
  parts_->lane_lost(lane);
  parts_->lanes.table().lost(lane, parts_->clock.monotonic());
  parts_->lanes.table().ask_again(lane);
}

void Engine::serve(const Topic& topic) { parts_->workshop.serve(topic); }
void Engine::add_slots(std::size_t count) { parts_->workshop.add_slots(count); }
void Engine::set_threads(std::size_t count) { parts_->workshop.set_threads(count); }
void Engine::answer(WorkReply answer) { parts_->workshop.answer(std::move(answer)); }
void Engine::begun(const WorkRun& run) { parts_->workshop.begun(run); }
void Engine::heartbeat(const WorkRun& run, Payload progress) { parts_->workshop.heartbeat(run, std::move(progress)); }
void Engine::detach(const WorkRun& run, Duration lease) { parts_->workshop.detach(run, lease); }
void Engine::probed(ProbeAnswer answer) { parts_->workshop.probed(std::move(answer)); }
void Engine::offer_probe(const Topic& topic) { parts_->workshop.offer_probe(topic); }
void Engine::give_back(const core::WorkItem& item, core::Began began) { parts_->workshop.give_back(item, began); }
void Engine::write_off(const WorkRun& run) { parts_->workshop.write_off(run); }
void Engine::undone(const WorkRun& run) { parts_->workshop.undone(run); }
void Engine::leave_runs() { parts_->workshop.leave_runs(); }
void Engine::graphs_changed() { parts_->loader.graphs_changed(); }

bool Engine::store_refuses() const { return parts_->outgoing.refuses(); }
std::size_t Engine::operations_waiting() const { return parts_->outgoing.waiting(); }
const std::string& Engine::name() const { return parts_->options.name; }
bool Engine::owns_anything() const { return !parts_->lanes.all_mine().empty(); }
std::vector<std::pair<core::LaneId, core::Epoch>> Engine::owned_lanes() const {
  std::vector<std::pair<core::LaneId, core::Epoch>> owned;
  for (const OwnedLane* lane : parts_->lanes.all_mine()) owned.emplace_back(lane->id, lane->epoch);
  return owned;
}
std::size_t Engine::hot_jobs() const { return parts_->jobs.size(); }
std::size_t Engine::waiting_bytes() const { return parts_->waiting_bytes(); }
std::size_t Engine::idle_bytes() const { return parts_->jobs.idle_bytes(); }
std::size_t Engine::worker_bytes() const { return parts_->workshop.bytes(); }
std::size_t Engine::free_slots() const { return parts_->workshop.free_slots(); }
std::size_t Engine::probes_remembered() const {
  std::size_t count = 0;
  for (const OwnedLane* lane : parts_->lanes.all_mine()) count += lane->probed.size();
  return count;
}
core::LaneId Engine::lane_for(const Namespace& name_space, std::string_view id) const {
  return parts_->lanes.table().lane_for(name_space, id);
}

}  // namespace pawl::runtime
