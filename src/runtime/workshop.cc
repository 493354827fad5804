// Workshop: what is done with a work item in its current state.
#include "runtime/workshop.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "base/format.h"
#include "base/seeded_bug.h"
#include "runtime/bytes.h"
#include "runtime/parts.h"

namespace pawl::runtime {

namespace {

using Why = core::NoReply::Why;

bool has_passed(Instant at, Instant now) { return at != Instant() && at <= now; }

bool is_claimed(const core::WorkItem& item) { return item.token != core::WorkToken(0); }

std::uint32_t unanswered(const core::WorkItem& item) {
  return item.runs > item.life.failures ? item.runs - item.life.failures : 0;
}

bool has_answer(const std::vector<core::Delivery>& deliveries, const core::WorkItem& item) {
  return std::any_of(deliveries.begin(), deliveries.end(), [&](const core::Delivery& delivery) {
    const auto* reply = std::get_if<core::Reply>(&delivery.message.body);
    return reply != nullptr && reply->activity == item.activity && reply->token == item.token &&
           reply->status != core::ReplyStatus::pending;
  });
}

}  // namespace

void Workshop::claim_for_workers(core::Bundle& bundle) {
  // A bundle that opens work and closes or stops the job withdraws it again: it must not begin.
  if (parts_.stopping || std::get<core::JobHead>(bundle.head).status != core::JobStatus::running) return;
  for (core::Write& write : bundle.writes) {
    auto* put = std::get_if<core::PutWork>(&write);
    if (put == nullptr || paused_topics_.contains(put->item.topic.raw())) continue;
    if (!desk_.serves(put->item.topic)) {
      claim_for_others(put->item);
      continue;
    }
    if (!desk_.take_slot(need_of(put->item))) continue;
    core::begin_run(put->item, parts_.options.name, bundle.epoch, Instant(), parts_.clock.now());
    if (seeded(SeededBug::dispatch_before_commit)) parts_.events.dispatch(put->item);
  }
}

// As ClaimWork would, in the same commit. Nobody hears of it before that is durable.
void Workshop::claim_for_others(core::WorkItem& item) {
  if (is_claimed(item) || item.held || item.visible_at != Instant()) return;
  const auto taker = parts_.events.find_far_taker(item);
  if (!taker) return;
  const Instant now = parts_.clock.now();
  core::begin_run(item, taker->worker, core::Epoch(0), now + taker->lease, now);
  if (seeded(SeededBug::far_work_before_commit)) return parts_.events.give_far(taker->number, item, nullptr);
  far_rooms_.insert_or_assign(run_of(item), taker->number);
}

void Workshop::give_back_slots(const core::Bundle& bundle) {
  for (const core::Write& write : bundle.writes) {
    const auto* work = std::get_if<core::PutWork>(&write);
    if (work == nullptr || !is_claimed(work->item)) continue;
    if (work->item.epoch == core::Epoch(0))
      free_room(work->item);
    else
      desk_.give_slot(need_of(work->item));
  }
}

void Workshop::free_room(const core::WorkItem& item) {
  if (const auto room = far_rooms_.extract(run_of(item))) parts_.events.free_far_room(room.mapped());
}

void Workshop::give_to_others(const core::WorkItem& item) {
  const auto room = far_rooms_.extract(run_of(item));
  if (!room) return;
  const HotJob* job = parts_.jobs.find(item.run);
  parts_.events.give_far(room.mapped(), item, job == nullptr ? nullptr : &job->state.job);
}

void Workshop::put_for_others(const core::Bundle& bundle) {
  if (far_rooms_.empty()) return;
  for (const core::Write& write : bundle.writes)
    if (const auto* work = std::get_if<core::PutWork>(&write)) give_to_others(work->item);
}

void Workshop::withdrawn(const store::Operation& operation) {
  if (const auto* bundle = std::get_if<core::Bundle>(&operation)) give_back_slots(*bundle);
  if (const auto* claim = std::get_if<store::ClaimItem>(&operation))
    desk_.claim_failed(WorkRef{claim->run, claim->activity});
}

void Workshop::put(OwnedLane* lane, const core::WorkItem& item) {
  if (!is_claimed(item)) {
    if (lane != nullptr) adopt(*lane, item);
    return;
  }
  if (item.epoch == core::Epoch(0)) {
    give_to_others(item);
    if (lane != nullptr) parts_.alarms.arm_changed(*lane, item);
    return;
  }
  // An owner stops when its lease is over: the next owner, perhaps this engine again, finds the item.
  if (lane == nullptr) return desk_.give_slot(need_of(item));
  if (may_begin(item))
    hand_out(item);
  else
    desk_.give_slot(need_of(item));
  parts_.alarms.arm_changed(*lane, item);  // the commit may have taken longer than its time limit
}

bool Workshop::may_begin(const core::WorkItem& item) const {
  const WorkRef ref{item.run, item.activity};
  const bool claiming = desk_.is_claiming(ref) && !seeded(SeededBug::run_begun_twice);
  return desk_.serves(item.topic) && !claiming && !looked_at_.contains(ref) && !desk_.is_in_hand(ref, item.token) &&
         !detaching_.contains(ref);
}

void Workshop::adopt(OwnedLane& lane, const core::WorkItem& item) {
  if (is_answered(lane, item)) return;
  parts_.alarms.arm(lane, item);
  if (is_over_time(lane, item)) return;
  if (!desk_.serves(item.topic))
    unserved_.waits(item.topic, WorkRef{item.run, item.activity}, parts_.clock.monotonic());
  if (!paused_topics_.contains(item.topic.raw())) parts_.events.work_waits(item.topic);
  if (!may_begin(item)) return;
  const bool lost = is_claimed(item);  // its owner is gone, or its lease is over
  if (lost && item.life.at_most_once && !seeded(SeededBug::at_most_once_twice))
    return say_no_answer(lane, item, Why::lost);
  if (paused_topics_.contains(item.topic.raw())) return;
  if (unanswered(item) >= handouts_max(item.run))
    overrun_.push_back(item);
  else
    desk_.wait(
        WaitingWork{WorkRef{item.run, item.activity}, item.token, unanswered(item), item.priority, need_of(item)});
}

void Workshop::hand_out(const core::WorkItem& item) {
  desk_.begin(WorkRef{item.run, item.activity}, item.token, need_of(item));
  clocks_.handed_out(item, parts_.clock.monotonic(), parts_.clock.now());
  parts_.events.dispatch(item);
}

void Workshop::go_on_with_claim(OwnedLane& lane, const core::WorkItem& item) {
  // Claimed for somebody outside, who never heard of it and may not wait any more.
  if (item.epoch == core::Epoch(0))
    return parts_.outgoing.push(store::ReleaseWork{item.run, item.activity, item.token});
  if (desk_.take_slot(need_of(item))) return put(&lane, item);
  if (!item.life.at_most_once) return adopt(lane, item);
  // No thread is free for it now. Later it would be unknown that it did not act.
  release(lane, item, core::Began::no);
}

bool Workshop::is_busy(core::LaneId lane) const {
  const auto is_there = [&](const WorkRef& ref) { return core::lane_of(ref.run) == lane; };
  return desk_.is_busy(lane) || std::any_of(detaching_.begin(), detaching_.end(), is_there) ||
         std::any_of(releasing_.begin(), releasing_.end(), is_there);
}

void Workshop::release(const OwnedLane& lane, const core::WorkItem& item, core::Began began) {
  releasing_.insert(WorkRef{item.run, item.activity});
  parts_.outgoing.push(store::ReleaseWork{item.run, item.activity, item.token, lane.epoch, began});
}

bool Workshop::is_answered(const OwnedLane& lane, const core::WorkItem& item) const {
  if (const HotJob* job = parts_.jobs.find(item.run)) return has_answer(job->queue, item);
  const auto waiting = lane.unread.find(item.run);
  return waiting != lane.unread.end() && has_answer(waiting->second.deliveries, item);
}

// Whether the item must not begin now: a time of it is over, has not come, or it waits for a person.
bool Workshop::is_over_time(OwnedLane& lane, const core::WorkItem& item) {
  const Instant now = parts_.clock.now();
  const core::WorkLife& life = item.life;
  if (item.held) return true;
  if (has_passed(life.deadline, now)) return say_no_answer(lane, item, Why::total), true;
  if (life.unknown) return ask_probe(lane, item), true;
  if (!is_claimed(item)) {
    if (has_passed(life.queue_by, now)) return say_no_answer(lane, item, Why::queue), true;
    return item.visible_at > now;
  }
  if (item.epoch != core::Epoch(0)) {  // with a worker of this process, or its process is gone
    const auto why = clocks_.over(run_of(item));
    if (why) say_no_answer(lane, item, *why);
    return why.has_value();
  }
  if (has_passed(life.attempt_by, now)) return say_no_answer(lane, item, Why::attempt), true;
  if (has_passed(life.heartbeat_by, now)) return say_no_answer(lane, item, Why::heartbeat), true;
  return item.lease_until > now;  // another worker has it, under a lease
}

void Workshop::say_no_answer(OwnedLane& lane, const core::WorkItem& item, Why why) {
  const auto index = std::uint64_t{item.runs} * 8 + static_cast<std::uint64_t>(why);
  const core::Guid guid = item.request.derive(core::Guid::Purpose::no_reply, index);
  if (const HotJob* job = parts_.jobs.find(item.run))
    for (const core::Delivery& delivery : job->queue)
      if (delivery.message.guid == guid) return;
  parts_.jobs.deliver(
      lane, item.run,
      core::Delivery{core::Message{guid, core::NoReply{item.activity, item.token, why}}, core::Origin::unstored});
}

void Workshop::ask_probe(OwnedLane& lane, const core::WorkItem& item) {
  const HotJob* job = parts_.jobs.find(item.run);
  const core::Activity* activity = job == nullptr ? nullptr : job->state.find(item.activity);
  if (activity == nullptr || !probes_.contains(item.topic.raw())) return;
  if (job->graph->nodes()[activity->node].policy.when_unknown != WhenUnknown::ask_probe) return;
  core::WorkToken& asked = lane.probed.try_emplace(WorkRef{item.run, item.activity}, core::WorkToken(0)).first->second;
  if (std::exchange(asked, item.token) != item.token) parts_.events.probe(item);
}

// What a bundle concluded or gave back is no longer unknown.
void Workshop::forget_probes(OwnedLane& lane, const core::Bundle& bundle) {
  if (lane.probed.empty()) return;
  const RunId run = bundle.entity;
  for (const core::Write& write : bundle.writes) {
    if (const auto* drop = std::get_if<core::DropWork>(&write)) {
      lane.probed.erase(WorkRef{run, drop->activity});
    } else if (const auto* change = std::get_if<core::ChangeWork>(&write)) {
      if (change->release) lane.probed.erase(WorkRef{run, change->activity});
    } else if (const auto* put = std::get_if<core::PutActivity>(&write)) {
      if (put->after.ledger.has(ledger::ActivityLedger::Mark::work_done))
        lane.probed.erase(WorkRef{run, put->after.seq});
    } else if (std::holds_alternative<core::Sweep>(write)) {
      lane.probed.erase(
          lane.probed.lower_bound(WorkRef{run, core::ActivitySeq(0)}),
          lane.probed.upper_bound(WorkRef{run, core::ActivitySeq(std::numeric_limits<std::uint32_t>::max())}));
    }
  }
}

std::vector<WorkRun> Workshop::runs_ended_by(const core::JobState& before, const core::Bundle& bundle) const {
  std::vector<WorkRun> runs;
  const auto add = [&](core::ActivitySeq activity, core::WorkToken token) {
    const WorkRun run{WorkRef{bundle.entity, activity}, token};
    if (desk_.is_running(run.ref, token)) runs.push_back(run);
  };
  for (const core::Write& write : bundle.writes) {
    if (const auto* drop = std::get_if<core::DropWork>(&write)) {
      add(drop->activity, drop->token);
    } else if (const auto* change = std::get_if<core::ChangeWork>(&write)) {
      // Given back, or unknown because its time was over: its reply would settle that, but the worker should return.
      add(change->activity, change->token);
    } else if (const auto* put = std::get_if<core::PutActivity>(&write)) {
      // Concluded by another message, such as a person's request.
      const core::WorkItem* item = before.find_work(put->after.seq);
      if (item != nullptr && put->after.ledger.has(ledger::ActivityLedger::Mark::work_done))
        add(item->activity, item->token);
    } else if (std::holds_alternative<core::Sweep>(write)) {
      for (const auto& [seq, item] : before.work()) add(seq, item.token);
    }
  }
  return runs;
}

std::uint32_t Workshop::handouts_max(RunId run) const {
  const HotJob* job = parts_.jobs.find(run);
  return parts_.options.reentries_max * (job == nullptr ? 1 : job->state.job.redrives + 1);
}

void Workshop::park_overrun() {
  for (std::size_t left = overrun_.size(); left > 0; --left) {
    const core::WorkItem item = std::move(overrun_.front());
    overrun_.pop_front();
    OwnedLane* lane = parts_.lanes.mine(item.run);
    if (lane == nullptr) continue;
    if (parts_.jobs.find(item.run) == nullptr) parts_.loader.load_if_cold(*lane, item.run);
    HotJob* job = parts_.jobs.find(item.run);  // now, because the next idle job may push it out of memory
    if (job == nullptr) {
      if (lane->unread.contains(item.run)) overrun_.push_back(item);
      continue;
    }
    if (job->in_flight)
      overrun_.push_back(item);
    else if (job->state.job.status == core::JobStatus::running && job->state.find_work(item.activity) != nullptr)
      parts_.jobs.park(*lane, *job,
                       format("over_limit: work for topic {} was handed out {} times and never answered",
                              item.topic.raw(), unanswered(item)));
  }
}

void Workshop::claim_waiting() {
  // Without room for replies no more work is claimed: what is being served goes first, and that makes room.
  if (parts_.stopping || !parts_.has_room()) return;
  while (const auto work = desk_.next_waiting(parts_.clock.monotonic())) {
    const OwnedLane* lane = parts_.lanes.mine(work->ref.run);
    if (lane == nullptr || lane->giving)
      desk_.claim_failed(work->ref);  // its next owner finds it
    else
      parts_.outgoing.push(
          store::ClaimItem{work->ref.run, work->ref.activity, work->before, parts_.options.name, lane->epoch});
  }
}

void Workshop::settle_claim(const store::ClaimItem& claim, store::Outcome outcome) {
  const WorkRef ref{claim.run, claim.activity};
  OwnedLane* lane = parts_.lanes.mine(claim.run);
  if (outcome.kind == store::OutcomeKind::committed && outcome.items().size() == 1 && lane != nullptr) {
    const core::WorkItem& item = outcome.items().front();
    // The outcome of a later bundle may have arrived before this claim's: then the item is not needed any more.
    if (parts_.outgoing.overtaken()) return claim_if_wanted(*lane, item, claim.before);
    return claimed(*lane, item);
  }
  const WorkNeed need = desk_.claim_failed(ref);
  const OwnedLane* memory = parts_.lanes.memory_of(core::lane_of(claim.run));
  if (outcome.kind == store::OutcomeKind::fenced && memory != nullptr && claim.epoch == memory->epoch)
    parts_.lane_taken(memory->id);
  else if (lane != nullptr)
    look_again(*lane, ref, claim.before, need);
}

void Workshop::claimed(OwnedLane& lane, const core::WorkItem& item) {
  if (HotJob* job = parts_.jobs.find(item.run)) job->state.put(item);
  hand_out(item);
  parts_.alarms.arm_changed(lane, item);
}

void Workshop::claim_if_wanted(OwnedLane& lane, const core::WorkItem& item, core::WorkToken before) {
  const WorkRef ref{item.run, item.activity};
  if (const HotJob* job = parts_.jobs.find(item.run)) {
    const core::WorkItem* own = job->state.find_work(item.activity);
    if (own != nullptr && (own->token == before || own->token == item.token)) return claimed(lane, item);
    desk_.claim_failed(ref);
    return;
  }
  parts_.reads.ask(
      lane, store::ReadItem{item.run, item.activity},
      [this, ref, item](OwnedLane& its_lane, const store::AnswerTo<store::ReadItem>& stored) {
        if (!stored) doubt({run_of(item)});  // read again soon
        if (!stored || (*stored && (*stored)->token == item.token))
          claimed(its_lane, item);
        else
          desk_.claim_failed(ref);
      },
      [this, ref] {
        desk_.claim_failed(ref);
        if (OwnedLane* again = parts_.lanes.mine(ref.run)) parts_.loader.scan(*again, true);  // it was skipped there
      });
}

// A claim did not go as expected: the stored item shows who has it.
void Workshop::look_again(OwnedLane& lane, const WorkRef& ref, core::WorkToken before, const WorkNeed& need) {
  topics_changed();
  looked_at_.insert(ref);
  parts_.reads.ask(
      lane, store::ReadItem{ref.run, ref.activity},
      [this, ref, before, need](OwnedLane& its_lane, const store::AnswerTo<store::ReadItem>& read) {
        looked_at_.erase(ref);
        // Not readable now: the claim is sent once more, unchanged.
        if (!read && read.error().code != ErrorCode::corrupt)
          desk_.wait(WaitingWork{ref, before, 0, 0, need});
        else if (!read)
          parts_.loader.damaged(ref.run, read.error().detail);
        else if (*read)
          found(its_lane, **read, before);
      },
      [this, ref] {
        looked_at_.erase(ref);
        if (OwnedLane* again = parts_.lanes.mine(ref.run)) parts_.loader.scan(*again, true);  // it was skipped there
      });
}

void Workshop::found(OwnedLane& lane, const core::WorkItem& item, core::WorkToken before) {
  const WorkRef ref{item.run, item.activity};
  if (HotJob* job = parts_.jobs.find(ref.run)) job->state.put(item);
  // This engine's own claim, whose reply was lost: the attempt has not begun, here or elsewhere.
  const bool ours = item.token != before && is_claimed(item) && item.worker == parts_.options.name &&
                    !desk_.is_running(ref, item.token) && item.epoch == lane.epoch;
  if (ours)
    go_on_with_claim(lane, item);
  else
    adopt(lane, item);
}

// Their jobs in memory must know the new tokens, or the answers would be those of strangers; and their times run.
void Workshop::taken_elsewhere(const std::vector<core::WorkItem>& items) {
  for (const core::WorkItem& item : items) {
    parts_.reads.touched(item.run);  // what was read before has the old token
    OwnedLane* lane = parts_.lanes.mine(item.run);
    if (lane == nullptr) continue;  // its owner is told (Engine::tell)
    if (HotJob* job = parts_.jobs.find(item.run)) {
      const core::WorkItem* own = job->state.find_work(item.activity);
      if (job->in_flight)
        job->look_again = true;  // the bundle on its way may change this very item
      else if (own != nullptr && own->runs < item.runs)
        job->state.put(item);
    }
    parts_.alarms.arm_changed(*lane, item);
  }
}

// What was given back waits again, here or at the job's next owner.
void Workshop::settle_release(const store::ReleaseWork& release, const store::Outcome& outcome) {
  OwnedLane* lane = parts_.lanes.mine(release.run);
  if (release.epoch == core::Epoch(0)) {  // by whoever has the token: local workers may begin it now
    if (lane != nullptr && !parts_.stopping) parts_.alarms.fire_work(*lane, WorkRef{release.run, release.activity});
    return;
  }
  const bool owned = lane != nullptr && release.epoch == lane->epoch;
  if (outcome.kind == store::OutcomeKind::outcome_unknown && owned)
    return parts_.outgoing.push(release);  // it may be sent twice
  releasing_.erase(WorkRef{release.run, release.activity});
  if (outcome.kind == store::OutcomeKind::fenced && owned) return parts_.lane_taken(lane->id);
  if (owned && !parts_.stopping) parts_.alarms.fire_work(*lane, WorkRef{release.run, release.activity});
}

}  // namespace pawl::runtime
