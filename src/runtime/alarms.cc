#include "runtime/alarms.h"

#include <algorithm>
#include <utility>

#include "base/seeded_bug.h"
#include "runtime/parts.h"
#include "runtime/stored_work.h"

namespace pawl::runtime {

void Alarms::arm(OwnedLane& lane, const store::Due& due) {
  if (due.at != Instant()) lane.due.add(due);
}

void Alarms::arm(OwnedLane& lane, const core::WorkItem& item) {
  const Instant now = parts_.clock.now();
  const Instant first = core::wake_of(item);
  if (first > now) return arm(lane, store::Due{first, item.run, store::Due::Kind::work, core::Guid{}, item.activity});
  // What stands in the store's list is over; only we remember that there is more.
  const Instant next = core::wake_of(item, now);
  if (next != Instant())
    lane.due.remind(store::Due{next, item.run, store::Due::Kind::work, core::Guid{}, item.activity});
}

void Alarms::arm_changed(OwnedLane& lane, const core::WorkItem& item) {
  arm(lane, item);
  const Instant first = core::wake_of(item);
  if (first != Instant() && first <= parts_.clock.now() && !parts_.stopping)
    fire_work(lane, WorkRef{item.run, item.activity});
}

void Alarms::fire_due() {
  if (parts_.stopping) return;
  const Instant now = parts_.clock.now();
  const auto mine = parts_.lanes.all_mine();
  // Removals make no job wait: without a bound of their own a burst of them would be one turn and one group. Each lane
  // has its share, so that none waits behind another's.
  const std::size_t share = std::max<std::size_t>(limits::due_per_turn_max / std::max<std::size_t>(mine.size(), 1), 1);
  for (OwnedLane* lane : mine) {
    for (std::size_t served = 0; served < share && parts_.may_find_more();) {
      if (lane->due.wants_page()) {
        auto page = parts_.store.read_due(lane->id, lane->due.horizon(), limits::due_page_rows);
        if (!page) {
          parts_.loader.cannot_read(page.error());
          break;
        }
        for (const store::Damaged& row : page->damaged) parts_.loader.damaged(row.run, row.what);
        if (seeded(SeededBug::timer_forgotten)) page->clear();
        lane->due.add_page(*page, limits::due_page_rows);
      }
      const auto due = lane->due.take(now);
      if (due) {
        fire(*lane, *due);
        ++served;
      } else if (!lane->due.wants_page()) {
        break;
      }
    }
  }
}

void Alarms::fire(OwnedLane& lane, const store::Due& due) {
  switch (due.kind) {
    case store::Due::Kind::message: return fire_message(lane, due);
    case store::Due::Kind::work: return fire_work(lane, WorkRef{due.run, due.activity});
    case store::Due::Kind::removal:
      return parts_.outgoing.push(store::RemoveJob{due.run, parts_.clock.now() + parts_.options.keep_keys});
    case store::Due::Kind::key:
      return parts_.outgoing.push(store::DropKeys{parts_.clock.now(), limits::start_keys_per_drop, lane.id});
  }
}

core::Origin Alarms::origin_of_timer(const OwnedLane& lane, Instant due) const {
  return due > lane.due.since() ? core::Origin::memory : core::Origin::loaded;
}

void Alarms::fire_message(OwnedLane& lane, const store::Due& due) {
  HotJob* job = parts_.jobs.find(due.run);
  if (job == nullptr) return parts_.loader.load_if_cold(lane, due.run);
  for (const core::Delivery& delivery : job->queue)
    if (delivery.message.guid == due.guid) return;
  auto message = parts_.store.read_message(due.run, due.guid);
  if (!message) {
    if (message.error().code != ErrorCode::corrupt) lane.due_again.push_back(due);
    else parts_.loader.damaged(due.run, message.error().detail);
    return;
  }
  if (!*message) return;
  if (parts_.post.signal_goes_first(job->state, (*message)->message)) return lane.due_again.push_back(due);
  job->queue.push_back(core::Delivery{std::move((*message)->message), origin_of_timer(lane, due.at), (*message)->redeliveries});
  parts_.jobs.make_ready(*job);
}

// The job in memory may not know who has its work: workers of other nodes claim it without a word.
void Alarms::fire_work(OwnedLane& lane, const WorkRef& ref) {
  HotJob* job = parts_.jobs.find(ref.run);
  if (job == nullptr) return parts_.loader.load_if_cold(lane, ref.run);  // loading it looks at its work
  const auto item = read_item(parts_.store, ref);
  if (!item) {
    if (item.error().code != ErrorCode::corrupt)
      lane.due_again.push_back(store::Due{parts_.clock.now(), ref.run, store::Due::Kind::work, core::Guid{}, ref.activity});
    else
      parts_.loader.damaged(ref.run, item.error().detail);
    return;
  }
  if (!*item || job->state.job.status != core::JobStatus::running) return;
  if (job->in_flight) {
    job->look_again = true;  // the bundle on its way may change this very item
    return;
  }
  job->state.put(**item);
  parts_.workshop.adopt(lane, **item);
}

void Alarms::tick() {
  bool served = true;
  for (OwnedLane* lane : parts_.lanes.all_mine()) {
    for (const store::Due& due : std::exchange(lane->due_again, {})) fire(*lane, due);
    served = served && lane->due_again.empty();
  }
  if (served) parts_.post.hold_none();  // whoever is put off waits in one of these lists
}

void Alarms::look_again() {
  for (OwnedLane* lane : parts_.lanes.all_mine()) lane->due.forget_horizon();
}

std::optional<Instant> Alarms::next() const {
  std::optional<Instant> first;
  for (const OwnedLane* lane : parts_.lanes.all_mine())
    if (const auto next = lane->due.next(); next && (!first || *next < *first)) first = next;
  return first;
}

bool Alarms::must_try_again() const {
  const auto mine = parts_.lanes.all_mine();
  return std::any_of(mine.begin(), mine.end(), [](const OwnedLane* lane) { return !lane->due_again.empty(); });
}

bool Alarms::wants_page() const {
  const auto mine = parts_.lanes.all_mine();
  return std::any_of(mine.begin(), mine.end(), [](const OwnedLane* lane) { return lane->due.wants_page(); });
}

}  // namespace pawl::runtime
