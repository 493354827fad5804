#include "runtime/post.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/format.h"
#include "base/seeded_bug.h"
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
    if (parts_.store.sends_directly())
      arrived(send->envelope.to, RunId(0), send->envelope.message, kind);
    else if (OwnedLane* lane = parts_.lanes.memory_of(core::lane_of(bundle.entity)))
      lane->outbox = true;
  }
}

void Post::arrived(const core::Target& to, RunId run, const core::Message& message, OutcomeKind kind) {
  if (kind == OutcomeKind::fenced || kind == OutcomeKind::rejected || kind == OutcomeKind::over_limit) return;
  const core::LaneId id = parts_.lanes.lane_for(to);
  OwnedLane* lane = parts_.lanes.mine(id);
  if (const auto* start = std::get_if<core::StartChild>(&message.body)) {
    if (parts_.store.sends_directly())
      look_for_refusal(start->parent);
    else if (lane != nullptr && (run == start->parent.run || kind != OutcomeKind::committed))
      lane->outbox = true;
  }
  if (lane == nullptr) return;  // its owner is notified (Engine::tell)
  if (const auto* known = std::get_if<RunId>(&to)) return hand_over(*known, message, kind);
  if (const auto* job = std::get_if<core::JobKey>(&to)) {
    return parts_.reads.ask(*lane, store::FindRun{*job},
                            [this](OwnedLane& its_lane, const store::AnswerTo<store::FindRun>& found) {
                              if (!found)
                                its_lane.rescan = true;
                              else if (*found)
                                parts_.loader.look(its_lane, **found);
                            });
  }
  if (run != RunId(0)) return parts_.mailboxes.serve(*lane, run);
  parts_.reads.ask(*lane, store::FindMailbox{std::get<core::MailboxKey>(to)},
                   [this](OwnedLane& its_lane, const store::AnswerTo<store::FindMailbox>& found) {
                     if (!found)
                       its_lane.rescan = true;
                     else if (*found)
                       parts_.mailboxes.serve(its_lane, **found);
                   });
}

// A child whose id is taken is refused: where sends are direct, its parent already has the message. The message's name
// is known, so that a parent of many children need not be read whole for each of them.
void Post::look_for_refusal(const core::ParentLink& parent) {
  OwnedLane* lane = parts_.lanes.mine(parent.run);
  if (lane == nullptr) return;
  parts_.reads.ask(*lane, store::ReadMessage{parent.run, core::last_word_of(parent.request)},
                   [this, run = parent.run](OwnedLane& its_lane, const store::AnswerTo<store::ReadMessage>& word) {
                     if (!word || *word) parts_.loader.look(its_lane, run);
                   });
}

void Post::hand_over(RunId run, const core::Message& message, OutcomeKind kind) {
  OwnedLane* lane = parts_.lanes.mine(run);
  if (lane == nullptr) return;
  const HotJob* job = parts_.jobs.find(run);
  if (kind == OutcomeKind::committed && job != nullptr)
    take(*lane, run, message);
  else if (kind == OutcomeKind::committed)
    parts_.loader.load_for(*lane, run, message.guid);
  else if (kind == OutcomeKind::already_done || kind == OutcomeKind::outcome_unknown)
    parts_.loader.look(*lane, run);
}

// The job may have read and served it already, before this engine learned that it was committed.
void Post::take(OwnedLane& lane, RunId run, const core::Message& message) {
  HotJob* job = parts_.jobs.find(run);
  const auto has = [](const HotJob& its_job, const core::Guid& guid) {
    return std::any_of(its_job.queue.begin(), its_job.queue.end(),
                       [&](const core::Delivery& delivery) { return delivery.message.guid == guid; });
  };
  if (has(*job, message.guid)) return;
  if (job->look_again) return;  // read with all that came before it
  // The store took this reply by its token. If the item here has another one, a worker of another process was given the
  // work and this engine has not been told yet: the item is read with the reply, which would seem stale otherwise.
  if (const auto* reply = std::get_if<core::Reply>(&message.body)) {
    const core::WorkItem* item = job->state.find_work(reply->activity);
    if (item != nullptr && item->token != reply->token) return parts_.loader.look(lane, run);
  }
  // Messages join in the order of their commits: while one is looked up, or the inbox is read, the next one is read
  // later.
  if (job->lookups > 0 || job->is_held()) return parts_.loader.look(lane, run);
  parts_.jobs.begin_lookup(*job);
  parts_.reads.ask(lane, store::ReadMessage{run, message.guid},
                   [this, run, message, has, launches = job->launches](
                       OwnedLane& its_lane, const store::AnswerTo<store::ReadMessage>& stored) {
                     HotJob* its_job = parts_.jobs.find(run);
                     if (its_job == nullptr || its_job->is_held() || !stored || its_job->launches != launches) {
                       parts_.loader.look(its_lane, run);
                     } else if (*stored && !has(*its_job, message.guid) &&
                                !its_job->look_again) {  // else it was served, or will be read
                       its_job->queue.push_back(core::Delivery{message, core::Origin::memory});
                       parts_.jobs.make_ready(*its_job);
                     }
                     parts_.jobs.end_lookup(run);
                   });
}

void Post::look_again() {
  for (OwnedLane* lane : parts_.lanes.all_mine()) lane->outbox = true;
}

void Post::deliver_outboxes() {
  for (OwnedLane* lane : parts_.lanes.all_mine()) {
    if (!lane->outbox || lane->outbox_asked) continue;
    lane->outbox = false;
    lane->outbox_asked = true;
    parts_.reads.ask(*lane, store::ReadOutbox{lane->id, limits::outbox_page_rows},
                     [this](OwnedLane& its_lane, const store::AnswerTo<store::ReadOutbox>& page) {
                       its_lane.outbox_asked = false;
                       if (!page) {  // next_wake() repeats it
                         its_lane.outbox = true;
                         return parts_.loader.cannot_read(page.error());
                       }
                       for (const store::Damaged& row : page->damaged)
                         if (its_lane.outbox_damaged.insert(row.what).second)
                           parts_.events.problem(format("{}; those behind it wait, all else goes on", row.what));
                       deliver(its_lane, *page);
                     });
  }
}

// Each route has one page under way at a time: a lane that cannot be reached blocks no other.
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

// Done: all rows up to this one are there. Too early: the target reports what it has. Otherwise the outcome is unknown,
// and the rows are sent again; the target takes each once.
void Post::settle_delivery(const store::Deliver& deliver, const store::Outcome& outcome) {
  OwnedLane* lane = parts_.lanes.memory_of(deliver.source->lane);
  if (lane == nullptr) return;
  const core::LaneId target = core::lane_of(deliver.envelope.to, deliver.lane);
  const auto found = lane->routes.find(target);
  if (found == lane->routes.end() || found->second.out == 0) return;  // sent before the lane was lost and taken again
  Route& route = found->second;
  if (outcome.done()) route.taken = std::max(route.taken, deliver.source->seq);
  if (outcome.kind == OutcomeKind::conflict) route.taken = std::max(route.taken, outcome.taken());
  if (outcome.kind == OutcomeKind::rejected) {
    route.refused = true;
    parts_.events.problem(format("row {} from lane {} to lane {} cannot be delivered, and those behind it wait: {}",
                                 deliver.source->seq, lane->id.raw(), target.raw(), outcome.reason));
  }
  if (--route.out > 0) return;
  // There may be more, or it must be sent again; what is refused waits until the next scan of the lane.
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
  if (outcome.done()) lane->outbox = true;  // the rows behind these come onto the page
}

bool Post::must_try_again() const {
  const auto mine = parts_.lanes.all_mine();
  return std::any_of(mine.begin(), mine.end(),
                     [](const OwnedLane* lane) { return lane->outbox && !lane->outbox_asked; });
}

}  // namespace pawl::runtime
