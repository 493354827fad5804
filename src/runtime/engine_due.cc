// Engine: what the clock sets going, and what becomes of a work item as it stands.
#include <limits>
#include <utility>

#include "base/format.h"
#include "base/seeded_bug.h"
#include "runtime/bytes.h"
#include "runtime/engine.h"

namespace pawl::runtime {

namespace {

using Why = core::NoAnswer::Why;

bool has_passed(Instant at, Instant now) { return at != Instant() && at <= now; }

}  // namespace

DueTable& Engine::due_of(core::LaneId lane) {
  return due_.try_emplace(lane, clock_.now(), limits::due_entries_max).first->second;
}

void Engine::arm(const store::Due& due) {
  const core::LaneId lane = core::lane_of(due.run);
  if (due.at != Instant() && lanes_.owns(lane, clock_.monotonic())) due_of(lane).add(due);
}

void Engine::arm(const core::WorkItem& item) {
  const Instant now = clock_.now();
  const Instant first = core::wake_of(item);
  if (first > now) return arm(store::Due{first, item.run, store::Due::Kind::work, core::Guid{}, item.activity});
  // What stands in the store's list is over; only we remember that there is more.
  const Instant next = core::wake_of(item, now);
  const core::LaneId lane = core::lane_of(item.run);
  if (next != Instant() && lanes_.owns(lane, clock_.monotonic()))
    due_of(lane).remind(store::Due{next, item.run, store::Due::Kind::work, core::Guid{}, item.activity});
}

// After a commit that moved its times. The reply may come later than they do: then its turn is now.
void Engine::arm_changed(const core::WorkItem& item) {
  arm(item);
  const Instant first = core::wake_of(item);
  if (first != Instant() && first <= clock_.now() && !stopping_)
    fire_work(store::Due{first, item.run, store::Due::Kind::work, core::Guid{}, item.activity});
}

void Engine::fire_due() {
  if (stopping_) return;
  const Instant now = clock_.now();
  for (const core::LaneId lane : lanes_.owned(clock_.monotonic())) {
    DueTable& table = due_of(lane);
    while (turns_.waiting() < limits::recovery_page_rows && has_room()) {
      if (table.wants_page()) {
        auto page = store_.read_due(lane, table.horizon(), limits::due_page_rows);
        if (!page) {
          cannot_scan(page.error());
          break;
        }
        for (const store::Damaged& row : page->damaged) damaged(row.run, row.what);
        if (seeded(SeededBug::timer_forgotten)) page->clear();
        table.add_page(*page, limits::due_page_rows);
      }
      const auto due = table.take(now);
      if (due) fire(*due);
      else if (!table.wants_page()) break;
      if (!due_.contains(lane)) break;  // lost while it was served
    }
  }
}

void Engine::fire(const store::Due& due) {
  switch (due.kind) {
    case store::Due::Kind::message: return fire_message(due);
    case store::Due::Kind::work: return fire_work(due);
    case store::Due::Kind::removal: return push(store::RemoveJob{due.run, clock_.now() + options_.keep_keys});
    case store::Due::Kind::key: return push(store::DropKeys{clock_.now()});
  }
}

// A timer whose time came while this engine had the lane is entered for the first time. An older one may have
// been the last thing that its owner saw.
core::Origin Engine::origin_of_timer(RunId run, Instant due) {
  return due > due_of(core::lane_of(run)).since() ? core::Origin::memory : core::Origin::loaded;
}

void Engine::fire_message(const store::Due& due) {
  HotJob* job = jobs_.find(due.run);
  if (job == nullptr) {
    if (!unread_.contains(due.run) && !blocked_.contains(due.run)) load(due.run, {});
    return;
  }
  for (const core::Delivery& delivery : job->queue)
    if (delivery.message.guid == due.guid) return;
  auto message = store_.read_message(due.run, due.guid);
  if (!message) {
    if (message.error().code != ErrorCode::corrupt) due_unread_.push_back(due);
    else damaged(due.run, message.error().detail);
    return;
  }
  if (!*message) return;
  if (signal_goes_first(job->state, (*message)->message)) return due_unread_.push_back(due);
  job->queue.push_back(core::Delivery{std::move((*message)->message), origin_of_timer(due.run, due.at),
                                      (*message)->redeliveries});
  make_ready(*job);
}

// The job in memory may not know who has its work: workers of other nodes claim it without a word.
void Engine::fire_work(const store::Due& due) {
  const WorkRef ref{due.run, due.activity};
  HotJob* job = jobs_.find(due.run);
  if (job == nullptr) {
    // Loading it looks at its work.
    if (!unread_.contains(due.run) && !blocked_.contains(due.run)) load(due.run, {});
    return;
  }
  const auto item = read_item(ref);
  if (!item) {
    if (item.error().code != ErrorCode::corrupt) due_unread_.push_back(due);
    else damaged(due.run, item.error().detail);
    return;
  }
  if (!*item || job->state.job.status != core::JobStatus::running) return;
  if (job->in_flight) {
    job->look_again = true;  // the bundle on its way may change this very item
    return;
  }
  job->state.put(**item);
  adopt(**item, Slot::wanted);
}

void Engine::say_no_answer(const core::WorkItem& item, Why why) {
  const auto index = std::uint64_t{item.runs} * 8 + static_cast<std::uint64_t>(why);
  const core::Guid guid = item.request.derive(core::Guid::Purpose::no_answer, index);
  if (const HotJob* job = jobs_.find(item.run))
    for (const core::Delivery& delivery : job->queue)
      if (delivery.message.guid == guid) return;
  deliver(item.run, core::Delivery{core::Message{guid, core::NoAnswer{item.activity, item.token, why}},
                                   core::Origin::unstored});
}

// Whether the item is nobody's to begin now: a time of it is over, has not come, or it waits for a person.
bool Engine::is_over_time(const core::WorkItem& item) {
  const Instant now = clock_.now();
  const core::WorkLife& life = item.life;
  const bool claimed = item.token != core::WorkToken(0);
  if (item.held) return true;
  if (has_passed(life.deadline, now)) return say_no_answer(item, Why::total), true;
  if (life.unknown) return ask_probe(item), true;
  if (!claimed) {
    if (has_passed(life.queue_by, now)) return say_no_answer(item, Why::queue), true;
    return item.visible_at > now;
  }
  if (item.epoch != core::Epoch(0)) {  // with a worker of this process, or its process is gone
    const auto why = clocks_.over(run_of(item));
    if (why) say_no_answer(item, *why);
    return why.has_value();
  }
  if (has_passed(life.attempt_by, now)) return say_no_answer(item, Why::attempt), true;
  if (has_passed(life.heartbeat_by, now)) return say_no_answer(item, Why::heartbeat), true;
  return item.lease_until > now;  // with somebody else, under a lease
}

// Runs of local workers whose time is over. The item as it is stored decides what follows.
void Engine::end_clocks() {
  for (const auto& [run, why] : clocks_.take_over(clock_.monotonic())) {
    if (why == Why::queue) events_.withdraw(run);
    // Without the lane nothing can be said; whoever takes it looks at all work, and the clock remembers.
    else if (lanes_.owns(core::lane_of(run.ref.run), clock_.monotonic()))
      fire_work(store::Due{clock_.now(), run.ref.run, store::Due::Kind::work, core::Guid{}, run.ref.activity});
  }
}

std::uint32_t Engine::unanswered(const core::WorkItem& item) const {
  return item.runs > item.life.failures ? item.runs - item.life.failures : 0;
}

std::uint32_t Engine::handouts_max(RunId run) const {
  const HotJob* job = jobs_.find(run);
  return options_.reentries_max * (job == nullptr ? 1 : job->state.job.redrives + 1);
}

void Engine::hand_out(const core::WorkItem& item) {
  desk_.begin(WorkRef{item.run, item.activity}, item.token, need_of(item));
  clocks_.handed_out(item, clock_.monotonic(), clock_.now());
  events_.dispatch(item);
}

// A work item of an owned lane, just committed or just read: run it, queue it, or leave it to who has it.
void Engine::adopt(const core::WorkItem& item, Slot slot) {
  const WorkRef ref{item.run, item.activity};
  const bool once = item.life.at_most_once;
  if (slot == Slot::wanted && is_answered(item)) return;
  // An owner stops when its time is over: the next owner, perhaps this engine again, finds the item.
  if (!lanes_.owns(core::lane_of(item.run), clock_.monotonic())) {
    if (slot == Slot::taken) desk_.give_slot(need_of(item));
    return;
  }
  arm(item);
  if (slot == Slot::wanted && is_over_time(item)) return;
  const bool claiming = desk_.is_claiming(ref) && !seeded(SeededBug::run_begun_twice);
  if (!desk_.serves(item.topic) || claiming || desk_.is_in_hand(ref, item.token) || detaching_.contains(ref)) {
    if (slot == Slot::taken) desk_.give_slot(need_of(item));
    return;
  }
  if (slot == Slot::taken) return hand_out(item);
  const bool lost = item.token != core::WorkToken(0);  // its owner is gone, or its lease is over
  if (lost && once && !seeded(SeededBug::at_most_once_twice)) return say_no_answer(item, Why::lost);
  if (paused_topics_.contains(item.topic.raw())) return;
  if (unanswered(item) >= handouts_max(item.run)) overrun_.push_back(item);
  else desk_.wait(WaitingWork{ref, item.token, unanswered(item), item.priority, need_of(item)});
}

// Our own claim whose reply was lost: the run has not begun, here or anywhere.
void Engine::go_on_with_claim(const core::WorkItem& item) {
  if (desk_.take_slot(need_of(item))) return adopt(item, Slot::taken);
  if (!item.life.at_most_once) return adopt(item, Slot::wanted);
  // No thread is free for it now. Nobody would know later that it did not act.
  const core::LaneId lane = core::lane_of(item.run);
  if (lanes_.owns(lane, clock_.monotonic()))
    push(store::ReleaseWork{item.run, item.activity, item.token, lanes_.epoch(lane), core::Began::no});
}

void Engine::ask_probe(const core::WorkItem& item) {
  const HotJob* job = jobs_.find(item.run);
  const core::Activity* activity = job == nullptr ? nullptr : job->state.find(item.activity);
  if (activity == nullptr || !probes_.contains(item.topic.raw())) return;
  if (job->graph->nodes()[activity->node].policy.when_unknown != WhenUnknown::ask_probe) return;
  core::WorkToken& asked = probed_.try_emplace(WorkRef{item.run, item.activity}, core::WorkToken(0)).first->second;
  if (std::exchange(asked, item.token) != item.token) events_.probe(item);
}

// What a bundle concluded or gave back is in doubt no more.
void Engine::forget_probes(const core::Bundle& bundle) {
  if (probed_.empty()) return;
  const RunId run = bundle.entity;
  for (const core::Write& write : bundle.writes) {
    if (const auto* drop = std::get_if<core::DropWork>(&write)) {
      probed_.erase(WorkRef{run, drop->activity});
    } else if (const auto* change = std::get_if<core::ChangeWork>(&write)) {
      if (change->release) probed_.erase(WorkRef{run, change->activity});
    } else if (const auto* put = std::get_if<core::PutActivity>(&write)) {
      if (put->after.ledger.has(ledger::ActivityLedger::Mark::work_done)) probed_.erase(WorkRef{run, put->after.seq});
    } else if (std::holds_alternative<core::Sweep>(write)) {
      probed_.erase(probed_.lower_bound(WorkRef{run, core::ActivitySeq(0)}),
                    probed_.upper_bound(WorkRef{run, core::ActivitySeq(std::numeric_limits<std::uint32_t>::max())}));
    }
  }
}

}  // namespace pawl::runtime
