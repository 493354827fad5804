#include "runtime/post.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/format.h"
#include "base/seeded_bug.h"
#include "core/kind_state.h"
#include "core/mailbox.h"
#include "runtime/parts.h"

namespace pawl::runtime {

using store::OutcomeKind;

void Post::address(core::Bundle& bundle) const {
  for (core::Write& write : bundle.writes)
    if (auto* send = std::get_if<core::Send>(&write)) send->lane = parts_.lanes.lane_for(send->envelope.to);
}

void Post::sent(const core::Bundle& bundle, OutcomeKind kind) {
  for (const core::Write& write : bundle.writes) {
    const auto* send = std::get_if<core::Send>(&write);
    if (send == nullptr) continue;
    if (parts_.store.sends_directly()) arrived(send->envelope.to, RunId(0), send->envelope.message, kind);
    else if (OwnedLane* lane = parts_.lanes.memory_of(core::lane_of(bundle.entity))) lane->outbox = true;
  }
}

void Post::arrived(const core::Target& to, RunId run, const core::Message& message, OutcomeKind kind) {
  if (kind == OutcomeKind::fenced || kind == OutcomeKind::rejected || kind == OutcomeKind::over_limit) return;
  const core::LaneId id = parts_.lanes.lane_for(to);
  OwnedLane* lane = parts_.lanes.mine(id);
  if (const auto* start = std::get_if<core::StartChild>(&message.body)) {
    if (parts_.store.sends_directly()) look_for_refusal(start->parent);
    else if (lane != nullptr && (run == start->parent.run || kind != OutcomeKind::committed)) lane->outbox = true;
  }
  if (lane == nullptr) return;  // its owner is told (Engine::tell)
  if (const auto* known = std::get_if<RunId>(&to)) return hand_over(*known, message, kind);
  if (const auto* job = std::get_if<core::JobKey>(&to)) {
    const auto found = parts_.store.find_run(job->name_space, job->id);
    if (!found) lane->rescan = true;
    else if (*found) parts_.loader.look(*lane, **found);
    return;
  }
  if (run == RunId(0)) {
    const auto found = parts_.store.find_mailbox(std::get<core::MailboxKey>(to));
    if (!found) lane->rescan = true;
    if (!found || !*found) return;
    run = **found;
  }
  serve_mailbox(*lane, run);
}

// A child whose id is taken is refused: where sends are direct, its parent has the word already. Its name is
// known, so that a parent of many need not be read whole for each of them.
void Post::look_for_refusal(const core::ParentLink& parent) {
  OwnedLane* lane = parts_.lanes.mine(parent.run);
  if (lane == nullptr) return;
  const auto word = parts_.store.read_message(parent.run, core::last_word_of(parent.request));
  if (!word || *word) parts_.loader.look(*lane, parent.run);
}

void Post::hand_over(RunId run, const core::Message& message, OutcomeKind kind) {
  OwnedLane* lane = parts_.lanes.mine(run);
  if (lane == nullptr) return;
  HotJob* job = parts_.jobs.find(run);
  if (kind == OutcomeKind::committed && job != nullptr) {
    const auto is_it = [&](const core::Delivery& delivery) { return delivery.message.guid == message.guid; };
    if (std::any_of(job->queue.begin(), job->queue.end(), is_it)) return;
    if (job->look_again) return;  // read with all that came before it
    const auto stored = parts_.store.read_message(run, message.guid);
    if (!stored) return parts_.loader.look(*lane, run);
    if (!*stored) return;  // served already
    job->queue.push_back(core::Delivery{message, core::Origin::memory});
    parts_.jobs.make_ready(*job);
  } else if (kind == OutcomeKind::committed || kind == OutcomeKind::already_done || kind == OutcomeKind::outcome_unknown) {
    parts_.loader.look(*lane, run);
  }
}

void Post::look_again() {
  for (OwnedLane* lane : parts_.lanes.all_mine()) lane->outbox = true;
}

void Post::deliver_outboxes() {
  for (OwnedLane* lane : parts_.lanes.all_mine()) {
    if (!lane->outbox) continue;
    const auto page = parts_.store.read_outbox(lane->id, limits::outbox_page_rows);
    if (!page) continue;  // next_wake() brings us back
    lane->outbox = false;
    deliver(*lane, *page);
  }
}

// A route has one page under way at a time, whatever the others do: a lane that cannot be reached holds up no other.
void Post::deliver(OwnedLane& lane, const std::vector<store::OutboxRow>& page) {
  std::optional<core::LaneId> target;  // rows come by target
  bool is_free = false;
  for (const store::OutboxRow& row : page) {
    Route& route = lane.routes[row.lane];
    if (target != row.lane) is_free = route.out == 0;
    target = row.lane;
    if (!is_free || row.seq <= route.taken) continue;
    store::Deliver deliver;
    deliver.envelope = row.envelope;
    deliver.lane = row.lane;
    deliver.source = store::Deliver::Source{lane.id, row.seq};
    parts_.outgoing.push(std::move(deliver));
    ++route.out;
    if (seeded(SeededBug::outbox_dropped_early))
      parts_.outgoing.push(store::DropOutbox{lane.id, lane.epoch, row.lane, row.seq});
  }
}

// Done: all rows up to this one are there. Too early: the target says what it has. Otherwise nobody knows, and the rows
// are sent again; the target takes each once.
void Post::settle_delivery(const store::Deliver& deliver, const store::Outcome& outcome) {
  OwnedLane* lane = parts_.lanes.memory_of(deliver.source->lane);
  if (lane == nullptr) return;
  const core::LaneId target = core::lane_of(deliver.envelope.to, deliver.lane);
  const auto found = lane->routes.find(target);
  if (found == lane->routes.end() || found->second.out == 0) return;  // sent before the lane was lost and taken again
  Route& route = found->second;
  if (outcome.done()) route.taken = std::max(route.taken, deliver.source->seq);
  if (outcome.kind == OutcomeKind::conflict) route.taken = std::max(route.taken, outcome.taken);
  if (outcome.kind == OutcomeKind::rejected) {
    route.refused = true;
    parts_.events.problem(format("row {} from lane {} to lane {} cannot be delivered, and those behind it wait: {}",
                                 deliver.source->seq, lane->id.raw(), target.raw(), outcome.reason));
  }
  if (--route.out > 0) return;
  // There may be more, or it has to be tried again; what is refused, when the lane is looked at the next time.
  if (!std::exchange(route.refused, false)) lane->outbox = true;
  if (route.taken == route.dropped) return;
  route.dropped = route.taken;
  parts_.outgoing.push(store::DropOutbox{lane->id, lane->epoch, target, route.taken});
}

void Post::settle_outbox(const store::DropOutbox& drop, const store::Outcome& outcome) {
  OwnedLane* lane = parts_.lanes.memory_of(drop.lane);
  if (lane == nullptr || drop.epoch != lane->epoch) return;  // lost meanwhile, and perhaps taken again
  if (outcome.kind == OutcomeKind::fenced) return parts_.lane_taken(drop.lane);
  if (outcome.kind == OutcomeKind::outcome_unknown) return parts_.outgoing.push(drop);
  if (outcome.done()) lane->outbox = true;  // what stood behind these rows comes onto the page
}

void Post::decide_mailboxes() {
  for (OwnedLane* lane : parts_.lanes.all_mine()) {
    for (const RunId run : std::exchange(lane->mailboxes, {})) {
      if (lane->mailboxes_out.contains(run)) lane->mailboxes.insert(run);
      else decide_mailbox(*lane, run);
    }
  }
}

// Of one that holds much only a page is read.
void Post::decide_mailbox(OwnedLane& lane, RunId run) {
  const core::DecideOptions options = parts_.decide_options(lane);
  auto page = parts_.store.read_mailbox_page(run, parts_.options.mailbox_page, options.now);
  if (!page && page.error().code != ErrorCode::corrupt) lane.mailboxes.insert(run);
  if (!page && page.error().code == ErrorCode::corrupt) parts_.loader.damaged(run, page.error().detail);
  if (!page || !*page) return;
  std::vector<core::Delivery> deliveries;
  for (core::InboxMessage& message : (*page)->inbox) deliveries.push_back({std::move(message.message)});
  core::Decision decision = core::decide((*page)->state, deliveries, options, (*page)->cut);
  if (!decision.bundle) return;
  if ((*page)->more || decision.done.size() < deliveries.size()) lane.mailboxes.insert(run);  // once this is committed
  address(*decision.bundle);
  lane.mailboxes_out.insert(run);
  parts_.outgoing.push(std::move(*decision.bundle));
}

void Post::settle_mailbox(const core::Bundle& bundle, const store::Outcome& outcome) {
  OwnedLane* lane = parts_.lanes.memory_of(core::lane_of(bundle.entity));
  // Its lane was lost meanwhile, and perhaps taken again.
  if (lane == nullptr || bundle.epoch != lane->epoch || lane->mailboxes_out.erase(bundle.entity) == 0) return;
  switch (outcome.kind) {
    case OutcomeKind::fenced: return parts_.lane_taken(lane->id);
    case OutcomeKind::over_limit:
    case OutcomeKind::rejected:
      return parts_.events.problem(
          format("mailbox {}: the store rejected its bundle: {}", bundle.entity.raw(), outcome.reason));
    case OutcomeKind::committed:
    case OutcomeKind::already_done:
      for (const core::Write& write : bundle.writes)
        if (const auto* put = std::get_if<core::PutMessage>(&write))
          parts_.alarms.arm(*lane, store::Due{put->due, bundle.entity, store::Due::Kind::message, put->message.guid});
      return sent(bundle, OutcomeKind::committed);
    case OutcomeKind::exists:
    case OutcomeKind::conflict:
    case OutcomeKind::outcome_unknown: break;
  }
  // Only the store knows: what was not served is still there.
  sent(bundle, OutcomeKind::outcome_unknown);
  serve_mailbox(*lane, bundle.entity);
}

bool Post::signal_goes_first(const core::JobState& state, const core::Message& timer) {
  const auto* time = std::get_if<core::TimeUp>(&timer.body);
  const core::Activity* hook = time == nullptr ? nullptr : state.find(time->activity);
  if (hook == nullptr || hook->status != core::ActivityStatus::open || hook->state.empty()) return false;
  const auto kind = core::decode_kind_state(hook->state.view());
  if (!kind || !kind->mailbox) return false;
  const auto mailbox = parts_.store.find_mailbox(*kind->mailbox);
  if (!mailbox || !*mailbox) return false;
  const auto registration = parts_.store.read_message(**mailbox, kind->registration());
  OwnedLane* lane = registration && *registration ? parts_.lanes.mine(**mailbox) : nullptr;
  if (lane != nullptr && ++timers_held_[timer.guid] <= limits::timer_holds_max) {
    serve_mailbox(*lane, **mailbox);
    return true;
  }
  timers_held_.erase(timer.guid);
  return false;
}

bool Post::must_try_again() const {
  const auto mine = parts_.lanes.all_mine();
  return std::any_of(mine.begin(), mine.end(), [](const OwnedLane* lane) {
    return lane->outbox || !lane->mailboxes.empty();
  });
}

}  // namespace pawl::runtime
