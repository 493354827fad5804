// Loader: scans what is stored, and handles what could not be read.
#include <algorithm>
#include <utility>

#include "base/format.h"
#include "base/seeded_bug.h"
#include "runtime/loader.h"
#include "runtime/parts.h"

namespace pawl::runtime {

void Loader::scan(OwnedLane& lane, bool work) {
  for (Scan& waiting : lane.scans)
    if (waiting.inboxes && waiting.after_run == RunId(0) && !waiting.asked) {
      waiting.work = waiting.work || work;  // that scan has not begun: it will see everything
      return;
    }
  lane.scans.push_back(Scan{true, work, RunId(0), {}});
  scanning_.push_back(lane.id);
}

void Loader::scan_all(bool work) {
  for (OwnedLane* lane : parts_.lanes.all_mine()) scan(*lane, work);
}

void Loader::look_around() {
  if (parts_.stopping) return;
  rows_left_ = limits::looks_per_turn;
  for (; rows_left_ > 0 && !looks_.empty() && parts_.has_room() && parts_.reads.has_room(); --rows_left_) {
    const RunId run = looks_.front();
    looks_.pop_front();
    if (OwnedLane* lane = parts_.lanes.mine(run)) look(*lane, run);
  }
  // If the store is remote, the pages of all lanes are asked for at once.
  for (std::size_t asked = 0;
       asked < scanning_.size() && rows_left_ > 0 && may_read_page() && parts_.may_find_more();) {
    OwnedLane* lane = parts_.lanes.mine(scanning_.front());
    if (lane == nullptr || lane->scans.empty()) {  // lost since, and perhaps taken again
      scanning_.pop_front();
    } else if (lane->scans.front().asked) {
      ++asked;
      scanning_.push_back(scanning_.front());
      scanning_.pop_front();
    } else {
      scan_some(*lane, rows_left_);
    }
  }
}

void Loader::scan_some(OwnedLane& lane, std::size_t rows_max) {
  Scan& scan = lane.scans.front();
  scan.asked = true;
  const auto take = [this](OwnedLane& its_lane, const auto& page) {
    its_lane.scans.front().asked = false;  // a waiting scan is removed only with its lane
    if (!page) return cannot_read(page.error());
    page_read();
    scanned(its_lane, *page);
  };
  if (scan.inboxes)
    parts_.reads.ask(lane, store::ReadWaiting{lane.id, scan.after_run, rows_max}, take);
  else
    parts_.reads.ask(lane, store::ReadWorkPlaces{lane.id, scan.after_work, rows_max}, take);
}

void Loader::scanned(OwnedLane& lane, const std::vector<store::Waiting>& page) {
  Scan& scan = lane.scans.front();
  for (const store::Waiting& waiting : page) {
    if (!parts_.has_room()) return;  // the rest follows when there is room
    scan.after_run = waiting.run;
    if (rows_left_ > 0) --rows_left_;
    if (waiting.kind == store::EntityKind::job)
      look(lane, waiting.run);
    else if (!seeded(SeededBug::mailbox_left_behind))
      parts_.mailboxes.serve(lane, waiting.run);
  }
  if (!page.empty()) return;
  scan.inboxes = false;
  if (!scan.work) end_scan(lane);
}

void Loader::scanned(OwnedLane& lane, const store::Page<store::WorkPlace>& page) {
  for (const store::Damaged& row : page.damaged) damaged(row.run, row.what);
  for (const store::WorkPlace& place : page) {
    if (!parts_.has_room()) return;
    lane.scans.front().after_work = store::WorkCursor{place.run, place.activity};
    if (rows_left_ > 0) --rows_left_;
    adopt_scanned(lane, place);
  }
  if (page.empty()) end_scan(lane);
}

void Loader::end_scan(OwnedLane& lane) {
  lane.scans.pop_front();
  const auto place = std::find(scanning_.begin(), scanning_.end(), lane.id);
  if (place != scanning_.end()) scanning_.erase(place);
}

// A job in memory has its own view, which may be newer than a page. What is claimed there under this epoch is with a
// worker, or its reply is on the way. The rest had no worker when it was put, or no room in the queue.
void Loader::adopt_scanned(OwnedLane& lane, const store::WorkPlace& place) {
  HotJob* job = parts_.jobs.find(place.run);
  if (job == nullptr) {
    // No worker here serves the topic: its times are in the list of what is due, so the job is not loaded. Loading a
    // job adopts its work, unless it is parked or its graph is not deployed here: then its reply could not be taken.
    if (parts_.workshop.cares_for(place.topic))
      load_if_cold(lane, place.run);
    else
      parts_.workshop.seen(place);
    return;
  }
  const core::WorkItem* own = job->state.find_work(place.activity);
  if (own != nullptr && (own->token == core::WorkToken(0) || own->epoch != lane.epoch))
    parts_.workshop.adopt(lane, *own);
}

// A read that fails once is retried silently; one that keeps failing is reported once.
void Loader::cannot_read(const Error& error) {
  failed_ = true;
  const Duration now = parts_.clock.monotonic();
  if (!failing_since_) failing_since_ = now;
  if (!failing_said_ && now - *failing_since_ >= limits::reads_fail_silently_max) {
    parts_.events.problem(format("cannot look for what waits, tried again until it works: {}", error.detail));
    failing_said_ = true;
  }
}

void Loader::page_read() {
  failed_ = false;
  failing_since_.reset();
  failing_said_ = false;
}

void Loader::tick() {
  failed_ = false;
  for (OwnedLane* lane : parts_.lanes.all_mine()) {
    if (std::exchange(lane->rescan, false)) scan(*lane, false);
    for (const auto& [run, what] : std::exchange(lane->unparked, {})) park_damaged(run, what);
    std::vector<RunId> again;
    for (const auto& [run, unread] : lane->unread)
      if (!unread.asked && (parts_.has_room() || !unread.may_wait())) again.push_back(run);
    for (const RunId run : again) read(*lane, run);
  }
}

bool Loader::waits_for_more() const {
  if (failed_ || !parts_.reads.has_room()) return false;
  return !looks_.empty() || std::any_of(scanning_.begin(), scanning_.end(), [this](core::LaneId id) {
    const OwnedLane* lane = parts_.lanes.mine(id);
    return lane == nullptr || lane->scans.empty() || !lane->scans.front().asked;
  });
}

bool Loader::must_try_again() const {
  const auto mine = parts_.lanes.all_mine();
  return failed_ || std::any_of(mine.begin(), mine.end(), [](const OwnedLane* lane) {
           return lane->rescan || !lane->unparked.empty() ||
                  std::any_of(lane->unread.begin(), lane->unread.end(),
                              [](const auto& one) { return !one.second.asked; });
         });
}

bool Loader::empty() const {
  const auto mine = parts_.lanes.all_mine();
  const auto waits = [](const auto& one) { return !one.second.may_wait(); };
  return std::all_of(mine.begin(), mine.end(), [&](const OwnedLane* lane) {
    return std::none_of(lane->unread.begin(), lane->unread.end(), waits);
  });
}

}  // namespace pawl::runtime
