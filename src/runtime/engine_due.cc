// Engine: what the clock sets going, and what becomes of a work item as it stands.
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

void Engine::fire_due() {
  if (stopping_) return;
  const Instant now = clock_.now();
  for (const core::LaneId lane : lanes_.owned(clock_.monotonic())) {
    DueTable& table = due_of(lane);
    while (ready_.size() < limits::recovery_page_rows && has_room()) {
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
  if (has_passed(life.attempt_by, now)) return say_no_answer(item, Why::attempt), true;
  if (has_passed(life.heartbeat_by, now)) return say_no_answer(item, Why::heartbeat), true;
  return item.epoch == core::Epoch(0) && item.lease_until > now;  // with somebody else, under a lease
}

std::uint32_t Engine::unanswered(const core::WorkItem& item) const {
  return item.runs > item.life.failures ? item.runs - item.life.failures : 0;
}

std::uint32_t Engine::handouts_max(RunId run) const {
  const HotJob* job = jobs_.find(run);
  return options_.reentries_max * (job == nullptr ? 1 : job->state.job.redrives + 1);
}

// A work item of an owned lane, just committed or just read: run it, queue it, or leave it to who has it.
void Engine::adopt(const core::WorkItem& item, Slot slot) {
  const WorkRef ref{item.run, item.activity};
  if (slot == Slot::wanted && is_answered(item)) return;
  // An owner stops when its time is over: the next owner, perhaps this engine again, finds the item.
  if (!lanes_.owns(core::lane_of(item.run), clock_.monotonic())) {
    if (slot == Slot::taken) desk_.give_up_slot(bytes_of(item));
    return;
  }
  arm(item);
  if (slot == Slot::wanted && is_over_time(item)) return;
  const bool claiming = desk_.is_claiming(ref) && !seeded(SeededBug::run_begun_twice);
  if (!desk_.serves(item.topic) || claiming || desk_.is_running(ref, item.token) || detaching_.contains(ref)) {
    if (slot == Slot::taken) desk_.give_up_slot(bytes_of(item));
    return;
  }
  if (slot == Slot::taken) {
    desk_.begin(ref, item.token, bytes_of(item));
    return events_.dispatch(item);
  }
  const bool lost = item.token != core::WorkToken(0);  // its owner is gone, or its lease is over
  if (lost && item.life.at_most_once && !seeded(SeededBug::at_most_once_twice)) return say_no_answer(item, Why::lost);
  if (paused_topics_.contains(item.topic.raw())) return;
  if (unanswered(item) >= handouts_max(item.run)) overrun_.push_back(item);
  else desk_.wait(WaitingWork{ref, item.token, unanswered(item), item.priority, bytes_of(item)});
}

void Engine::ask_probe(const core::WorkItem& item) {
  const WorkRun run{WorkRef{item.run, item.activity}, item.token};
  const HotJob* job = jobs_.find(item.run);
  const core::Activity* activity = job == nullptr ? nullptr : job->state.find(item.activity);
  if (activity == nullptr || !probes_.contains(item.topic.raw())) return;
  if (job->graph->nodes()[activity->node].policy.when_unknown != WhenUnknown::ask_probe) return;
  if (probed_.insert(run).second) events_.probe(item);
}

}  // namespace pawl::runtime
