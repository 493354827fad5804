#include "runtime/alarms.h"

#include <algorithm>
#include <utility>

#include "base/seeded_bug.h"
#include "runtime/parts.h"

namespace pawl::runtime {

void Alarms::arm(OwnedLane& lane, const store::Due& due) {
  if (due.at != Instant()) lane.due.add(due);
}

void Alarms::arm(OwnedLane& lane, const core::WorkItem& item) {
  const Instant now = parts_.clock.now();
  const Instant first = core::wake_of(item);
  if (first > now) return arm(lane, store::Due{first, item.run, store::Due::Kind::work, core::Guid{}, item.activity});
  // The entry in the store's list has passed; only this engine remembers that there is a later one.
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
  // Many timers may be due in the same instant. The first few are committed while the next ones are read and decided,
  // so that none waits for all of them. Each lane has a share, so that no lane waits for another one.
  const std::size_t share = std::max<std::size_t>(limits::due_per_turn_max / std::max<std::size_t>(mine.size(), 1), 1);
  for (OwnedLane* lane : mine) {
    for (std::size_t served = 0; served < share;) {
      const bool has_page = !lane->due.wants_page() ||
                            (parts_.may_find_more() && parts_.loader.may_read_page() && read_page(*lane));
      if (const store::Due* first = lane->due.first(now)) {
        if (!may_fire(*first)) break;
        fire(*lane, *lane->due.take(now));
        ++served;
      } else if (!has_page || !lane->due.wants_page()) {
        break;
      }
    }
  }
}

bool Alarms::is_at_hand(const store::Due& due) const {
  if (due.kind != store::Due::Kind::message) return false;
  const HotJob* job = parts_.jobs.find(due.run);
  return job != nullptr && job->has_timer(due.guid);
}

// Timers that need no read all get their turn before what comes after their time.
bool Alarms::may_fire(const store::Due& due) const {
  if (!is_at_hand(due)) return parts_.may_find_more();
  return parts_.jobs.waiting() < limits::due_at_hand_max && parts_.has_room();
}

bool Alarms::has_due() const {
  if (parts_.stopping) return false;
  const Instant now = parts_.clock.now();
  // While a group is on its way the next one gathers, but not much more than that: removals are no bundles.
  const bool gathers = parts_.outgoing.waiting() < limits::due_per_turn_max && parts_.outgoing.takes_bundles();
  const auto mine = parts_.lanes.all_mine();
  return std::any_of(mine.begin(), mine.end(), [&](const OwnedLane* lane) {
    const store::Due* first = lane->due.first(now);
    return first != nullptr && (gathers || is_at_hand(*first)) && may_fire(*first);
  });
}

void Alarms::look_ahead() {
  std::size_t left = limits::ahead_per_turn_max;
  for (OwnedLane* lane : parts_.lanes.all_mine())
    if (!lane->giving) look_ahead(*lane, left);
}

// Not each by itself: a process with a few timers would wake twice for each of them.
void Alarms::look_ahead(OwnedLane& lane, std::size_t& left) {
  const Instant now = parts_.clock.now();
  const Instant until = now + limits::short_wait_max;
  const auto next = lane.due.next_ahead(now);
  if (!next || *next > now + limits::ahead_at_least) return;
  while (left > 0 && may_look_ahead()) {
    if (const auto due = lane.due.take_ahead(now, until)) {
      --left;
      if (due->kind == store::Due::Kind::message) parts_.loader.load_ahead(lane, due->run);
    } else if (!lane.due.wants_page_ahead(now, until) || !read_page(lane)) {
      return;
    }
  }
}

// What is at hand for a later time must not displace what is used now.
bool Alarms::may_look_ahead() const {
  return parts_.options.looks_ahead && !parts_.stopping && parts_.may_find_more() && parts_.loader.may_read_page() &&
         parts_.jobs.idle_bytes() < parts_.options.bytes_max.hot_jobs / 2 &&
         parts_.jobs.size() < parts_.options.hot_jobs_max / 2;
}

bool Alarms::read_page(OwnedLane& lane) {
  const std::uint64_t before = lane.due.pages();
  const std::uint64_t number = lane.due.ask_page();
  parts_.reads.ask(lane, store::ReadDue{lane.id, lane.due.horizon(), limits::due_page_rows},
                   [this, number](OwnedLane& its_lane, store::AnswerTo<store::ReadDue> page) {
                     if (!page) {
                       its_lane.due.page_failed(number);
                       return parts_.loader.cannot_read(page.error());
                     }
                     parts_.loader.page_read();
                     for (const store::Damaged& row : page->damaged) parts_.loader.damaged(row.run, row.what);
                     if (seeded(SeededBug::timer_forgotten)) page->clear();
                     its_lane.due.add_page(number, *page, limits::due_page_rows);
                   });
  return lane.due.pages() != before;
}

void Alarms::fire(OwnedLane& lane, const store::Due& due) {
  switch (due.kind) {
    case store::Due::Kind::message:
      return fire_message(lane, due);
    case store::Due::Kind::work:
      return fire_work(lane, WorkRef{due.run, due.activity});
    case store::Due::Kind::removal:
      return parts_.outgoing.push(store::RemoveJob{due.run, parts_.clock.now() + parts_.options.keep_keys});
    case store::Due::Kind::key:
      return parts_.outgoing.push(store::DropKeys{parts_.clock.now(), limits::start_keys_per_drop, lane.id});
  }
}

core::Origin Alarms::origin_of_timer(const OwnedLane& lane, Instant due) const {
  return due > lane.due.since() ? core::Origin::memory : core::Origin::loaded;
}

namespace {

bool has(const HotJob& job, const core::Guid& guid) {
  return std::any_of(job.queue.begin(), job.queue.end(),
                     [&](const core::Delivery& delivery) { return delivery.message.guid == guid; });
}

}  // namespace

void Alarms::fire_message(OwnedLane& lane, const store::Due& due) {
  HotJob* job = parts_.jobs.find(due.run);
  if (job == nullptr) return parts_.loader.load_if_cold(lane, due.run);
  if (has(*job, due.guid)) return;
  parts_.jobs.begin_lookup(*job);
  if (auto timer = job->take_timer(due.guid)) return message_read(lane, due, job->launches, std::move(*timer));
  parts_.reads.ask(
      lane, store::ReadMessage{due.run, due.guid},
      [this, due, launches = job->launches](OwnedLane& its_lane, store::AnswerTo<store::ReadMessage> message) {
        if (message && *message) return message_read(its_lane, due, launches, std::move(**message));
        if (!message && message.error().code == ErrorCode::corrupt)
          parts_.loader.damaged(due.run, message.error().detail);
        else if (!message)
          its_lane.due_again.push_back(due);
        parts_.jobs.end_lookup(due.run);
      });
}

// A signal that came before the hook goes before the hook's timer.
void Alarms::message_read(OwnedLane& lane, const store::Due& due, std::uint64_t launches, core::InboxMessage message) {
  const HotJob* job = parts_.jobs.find(due.run);
  if (job == nullptr || !parts_.mailboxes.may_have_signal(job->state, message.message))
    return take_timer(lane, due, launches, std::move(message));
  const core::JobState& state = job->state;
  const core::Message timer = message.message;
  parts_.mailboxes.look_for_signal(
      lane, state, timer,
      [this, due, launches, message = std::move(message)](OwnedLane& its_lane, bool goes_first) mutable {
        if (!goes_first) return take_timer(its_lane, due, launches, std::move(message));
        its_lane.due_again.push_back(due);
        parts_.jobs.end_lookup(due.run);
      });
}

void Alarms::take_timer(OwnedLane& lane, const store::Due& due, std::uint64_t launches, core::InboxMessage message) {
  HotJob* job = parts_.jobs.find(due.run);
  if (job == nullptr) return parts_.loader.load_if_cold(lane, due.run);
  // A bundle that was sent since the read may have consumed it.
  if (job->launches != launches) {
    parts_.loader.look(lane, due.run);
  } else if (!has(*job, due.guid)) {
    parts_.jobs.queue(*job, {std::move(message.message), origin_of_timer(lane, due.at), message.redeliveries});
    parts_.jobs.make_ready(*job);
  }
  parts_.jobs.end_lookup(due.run);
}

// The job in memory may not know who has its work: workers of other nodes claim it without a message.
void Alarms::fire_work(OwnedLane& lane, const WorkRef& ref) {
  // loading looks at its work
  if (parts_.jobs.find(ref.run) == nullptr) return parts_.loader.load_if_cold(lane, ref.run);
  parts_.reads.ask(lane, store::ReadItem{ref.run, ref.activity},
                   [this, ref](OwnedLane& its_lane, const store::AnswerTo<store::ReadItem>& item) {
                     work_read(its_lane, ref, item);
                   });
}

void Alarms::work_read(OwnedLane& lane, const WorkRef& ref, const store::AnswerTo<store::ReadItem>& item) {
  if (!item) {
    if (item.error().code != ErrorCode::corrupt)
      lane.due_again.push_back(
          store::Due{parts_.clock.now(), ref.run, store::Due::Kind::work, core::Guid{}, ref.activity});
    else
      parts_.loader.damaged(ref.run, item.error().detail);
    return;
  }
  HotJob* job = parts_.jobs.find(ref.run);
  if (job == nullptr) return parts_.loader.load_if_cold(lane, ref.run);
  if (!*item || job->state.job.status != core::JobStatus::running) return;
  if (job->in_flight) {
    job->look_again = true;  // the bundle on its way may change this item
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
  if (served) parts_.mailboxes.hold_none();  // timers that are put off are in one of these lists
}

void Alarms::look_again() {
  for (OwnedLane* lane : parts_.lanes.all_mine()) lane->due.forget_horizon();
}

std::optional<Instant> Alarms::next() const {
  const Instant now = parts_.clock.now();
  std::optional<Instant> first;
  for (const OwnedLane* lane : parts_.lanes.all_mine()) {
    const store::Due* due = lane->due.first(now);
    if (due != nullptr && !may_fire(*due)) continue;
    if (const auto next = lane->due.next(); next && (!first || *next < *first)) first = next;
  }
  return first;
}

std::optional<Instant> Alarms::next_look_ahead() const {
  if (!may_look_ahead()) return std::nullopt;
  const Instant now = parts_.clock.now();
  std::optional<Instant> first;
  for (const OwnedLane* lane : parts_.lanes.all_mine()) {
    if (lane->giving) continue;
    if (const auto next = lane->due.next_ahead(now); next && (!first || *next < *first)) first = next;
  }
  if (!first) return std::nullopt;
  return *first - limits::ahead_at_least;
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
