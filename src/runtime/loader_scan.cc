// Loader: looks through what is stored, and what could not be read.
#include <algorithm>
#include <utility>

#include "base/format.h"
#include "base/seeded_bug.h"
#include "runtime/loader.h"
#include "runtime/parts.h"

namespace pawl::runtime {

void Loader::scan(OwnedLane& lane, bool work) {
  for (Scan& waiting : lane.scans)
    if (waiting.inboxes && waiting.after_run == RunId(0)) {
      waiting.work = waiting.work || work;  // it has not begun: it will see it all
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
  std::size_t left = limits::looks_per_turn;
  for (; left > 0 && !looks_.empty() && parts_.has_room(); --left) {
    const RunId run = looks_.front();
    looks_.pop_front();
    if (OwnedLane* lane = parts_.lanes.mine(run)) look(*lane, run);
  }
  while (left > 0 && !scanning_.empty() && parts_.may_find_more()) {
    OwnedLane* lane = parts_.lanes.mine(scanning_.front());
    const bool none = lane == nullptr || lane->scans.empty();  // lost since, and perhaps taken again
    const auto seen = none ? 0 : scan_some(*lane, lane->scans.front(), left);
    if (!seen) return;  // tried again by next_wake()
    if (*seen == 0) {
      scanning_.pop_front();
      if (!none) lane->scans.pop_front();
    }
    left -= *seen;
  }
}

std::optional<std::size_t> Loader::scan_some(OwnedLane& lane, Scan& scan, std::size_t rows_max) {
  if (scan.inboxes) {
    const auto page = parts_.store.read_waiting(lane.id, scan.after_run, rows_max);
    if (!page) return cannot_read(page.error()), std::nullopt;
    for (const store::Waiting& waiting : *page) {
      if (!parts_.has_room()) return std::nullopt;  // the rest when what was found is on its way
      scan.after_run = waiting.run;
      if (waiting.kind == store::EntityKind::job) look(lane, waiting.run);
      else if (!seeded(SeededBug::mailbox_left_behind)) parts_.post.serve_mailbox(lane, waiting.run);
    }
    if (!page->empty()) return page->size();
    scan.inboxes = false;
  }
  if (!scan.work) return 0;
  const auto page = parts_.store.read_work_places(lane.id, scan.after_work, rows_max);
  if (!page) return cannot_read(page.error()), std::nullopt;
  for (const store::Damaged& row : page->damaged) damaged(row.run, row.what);
  for (const store::WorkPlace& place : *page) {
    if (!parts_.has_room()) return std::nullopt;
    scan.after_work = store::WorkCursor{place.run, place.activity};
    adopt_scanned(lane, place);
  }
  return page->size();
}

// A hot job has a view of its own, newer than a page may be. What is claimed there under this epoch is with a
// worker, or its answer is on the way; the rest had no worker when it was put, or no room in the queue.
void Loader::adopt_scanned(OwnedLane& lane, const store::WorkPlace& place) {
  HotJob* job = parts_.jobs.find(place.run);
  if (job == nullptr) {
    // Nobody here works for the topic: what its clock wants is in the list of times, so the job stays where it is.
    // Loading it adopts its work, unless it is parked or its graph is not here: its answer could not be taken.
    if (parts_.workshop.cares_for(place.topic)) load_if_cold(lane, place.run);
    return;
  }
  const core::WorkItem* own = job->state.find_work(place.activity);
  if (own != nullptr && (own->token == core::WorkToken(0) || own->epoch != lane.epoch)) parts_.workshop.adopt(lane, *own);
}

// A read that fails once is tried again, and nobody needs to know; one that goes on failing is said, once.
void Loader::cannot_read(const Error& error) {
  failed_ = true;
  const Duration now = parts_.clock.monotonic();
  if (!failing_since_) failing_since_ = now;
  if (!failing_said_ && now - *failing_since_ >= limits::reads_fail_silently_max) {
    parts_.events.problem(format("cannot look for what waits, tried again until it works: {}", error.detail));
    failing_said_ = true;
  }
}

void Loader::end_turn() {
  if (failed_) return;
  failing_since_.reset();
  failing_said_ = false;
}

void Loader::tick() {
  for (OwnedLane* lane : parts_.lanes.all_mine()) {
    if (std::exchange(lane->rescan, false)) scan(*lane, false);
    for (auto& [run, deliveries] : std::exchange(lane->unread, {})) load(*lane, run, std::move(deliveries));
  }
}

bool Loader::waits_for_more() const { return !failed_ && (!scanning_.empty() || !looks_.empty()); }

bool Loader::must_try_again() const {
  const auto mine = parts_.lanes.all_mine();
  return failed_ || std::any_of(mine.begin(), mine.end(), [](const OwnedLane* lane) {
           return lane->rescan || !lane->unread.empty();
         });
}

bool Loader::empty() const {
  const auto mine = parts_.lanes.all_mine();
  return std::all_of(mine.begin(), mine.end(), [](const OwnedLane* lane) { return lane->unread.empty(); });
}

}  // namespace pawl::runtime
