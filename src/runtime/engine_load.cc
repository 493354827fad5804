// Engine: what is read from the store: cold jobs, jobs whose outcome is not known, lanes after a take-over.
#include <algorithm>
#include <utility>

#include "base/format.h"
#include "base/invariant.h"
#include "base/seeded_bug.h"
#include "runtime/bytes.h"
#include "runtime/engine.h"
#include "runtime/stored_work.h"

namespace pawl::runtime {

void Engine::forget(RunId run) {
  if (const HotJob* job = jobs_.find(run)) abandon(run, job->queue);
  jobs_.erase(run);
  turns_.leave(run, clock_.monotonic());
}

// These deliveries are lost with their job's place in memory.
void Engine::abandon(RunId run, const std::vector<core::Delivery>& deliveries) {
  for (const core::Delivery& delivery : deliveries)
    if (const auto* response = std::get_if<core::Response>(&delivery.message.body))
      if (delivery.origin == core::Origin::unstored) desk_.abandon(WorkRef{run, response->activity}, response->token);
}

void Engine::deliver(RunId run, core::Delivery delivery) {
  if (const auto waiting = unread_.find(run); waiting != unread_.end()) {
    waiting->second.push_back(std::move(delivery));
    return;
  }
  HotJob* job = jobs_.find(run);
  if (job == nullptr) {
    std::vector<core::Delivery> deliveries;
    deliveries.push_back(std::move(delivery));
    load(run, std::move(deliveries));
    return;
  }
  job->queue.push_back(std::move(delivery));
  make_ready(*job);
}

namespace {

bool has_answer(const std::vector<core::Delivery>& deliveries, const core::WorkItem& item) {
  return std::any_of(deliveries.begin(), deliveries.end(), [&](const core::Delivery& delivery) {
    const auto* response = std::get_if<core::Response>(&delivery.message.body);
    return response != nullptr && response->activity == item.activity && response->token == item.token &&
           response->status != core::ReplyStatus::pending;
  });
}

// Whether the bundle, whose outcome is not known, claimed this very run for a local worker: it never began.
bool is_claimed_by(const core::Bundle* bundle, const core::WorkItem& item) {
  return bundle != nullptr && std::any_of(bundle->writes.begin(), bundle->writes.end(), [&](const core::Write& write) {
           const auto* put = std::get_if<core::PutWork>(&write);
           return put != nullptr && put->item == item && item.token != core::WorkToken(0);
         });
}

}  // namespace

HotJob* Engine::load(RunId run, std::vector<core::Delivery> unstored, const core::Bundle* uncertain) {
  if (HotJob* known = jobs_.find(run)) {
    for (core::Delivery& delivery : unstored) known->queue.push_back(std::move(delivery));
    make_ready(*known);
    return known;
  }
  auto stored = store_.read_job(run);
  if (!stored) {
    if (stored.error().code == ErrorCode::corrupt) damaged(run, stored.error().detail);
    else unread_.emplace(run, std::move(unstored));
    return nullptr;
  }
  if (!*stored) {
    serve_mailbox(run);  // if it is one
    return nullptr;
  }
  core::JobState& state = (*stored)->state;
  const Instant now = clock_.now();
  for (core::InboxMessage& timer : (*stored)->timers) {
    if (timer.due > now && !seeded(SeededBug::timer_early))
      arm(store::Due{timer.due, run, store::Due::Kind::message, timer.message.guid});  // perhaps put by others
    else if (signal_goes_first(state, timer.message))
      due_unread_.push_back(store::Due{timer.due, run, store::Due::Kind::message, timer.message.guid});
    else
      (*stored)->inbox.push_back(std::move(timer));
  }
  const bool nothing_to_do =
      (*stored)->inbox.empty() && unstored.empty() && state.job.status != core::JobStatus::running;
  if (nothing_to_do) {
    // It was its end whose reply was lost: whoever waits for it hears of it now.
    if (uncertain != nullptr && core::is_closed(state.job.status) && state.job.completions > 0) events_.closed(state.job);
    return nullptr;
  }
  auto graph = graphs_.find(state.job.graph);
  if (graph == nullptr) {
    if (blocked_.emplace(run, state.job.graph).second)
      events_.problem(format("job {} waits: graph {} version {} is not deployed here with the content it started on",
                             state.job.id.raw(), state.job.graph.name.raw(), state.job.graph.version));
    return nullptr;
  }
  HotJob& job = jobs_.add(std::move(state), std::move(graph));
  for (core::InboxMessage& message : (*stored)->inbox) {
    const auto origin = message.due == Instant() ? core::Origin::loaded : origin_of_timer(run, message.due);
    core::Delivery delivery{std::move(message.message), origin, message.redeliveries};
    if (core::entries_before(job.state, delivery) >= limits::reentries_in_groups_max) job.suspect = true;
    job.queue.push_back(std::move(delivery));
  }
  for (core::Delivery& delivery : unstored) job.queue.push_back(std::move(delivery));
  adopt_work(job, uncertain);
  if (job.queue.empty()) jobs_.idle(job);
  else make_ready(job);
  return &job;
}

// Looks at every work item of a job that was just read.
void Engine::adopt_work(HotJob& job, const core::Bundle* uncertain) {
  // A stopped job's work is not handed out: nobody would take the answer.
  if (job.state.job.status != core::JobStatus::running) return;
  std::vector<core::WorkItem> items;
  for (const auto& [seq, item] : job.state.work()) items.push_back(item);
  std::sort(items.begin(), items.end(), [](const auto& a, const auto& b) { return a.activity < b.activity; });
  for (const core::WorkItem& item : items) {
    if (is_answered(item)) continue;
    if (is_claimed_by(uncertain, item)) go_on_with_claim(item);
    else adopt(item, Slot::wanted);
  }
}

// The bundle's outcome is not known, or it came too late: only the store knows where the job stands.
// What has a row is read again with the job; an answer that never had one lives only here.
std::vector<core::Delivery> Engine::take_unstored(HotJob& job) {
  std::vector<core::Delivery> unstored;
  for (core::Delivery& delivery : job.queue)
    if (delivery.origin == core::Origin::unstored) unstored.push_back(std::move(delivery));
  job.queue.clear();
  return unstored;
}

// Something that it needs cannot be read now: as if it had not been read itself. tick() tries again. What comes later
// must not be served before what could not be read, so it may not stay in memory either.
void Engine::set_aside(HotJob& job) {
  const RunId run = job.state.job.run;
  auto unstored = take_unstored(job);
  forget(run);
  unread_[run] = std::move(unstored);
}

void Engine::reload(const core::Bundle& uncertain) {
  const RunId run = uncertain.entity;
  std::vector<core::Delivery> unstored;
  if (HotJob* job = jobs_.find(run)) {
    for (const WorkRun& ended : runs_ended_by(job->state, uncertain)) runs_in_doubt_.push_back(ended);
    unstored = take_unstored(*job);
    forget(run);
  }
  if (!lanes_.owns(core::lane_of(run), clock_.monotonic())) return abandon(run, unstored);
  load(run, std::move(unstored), &uncertain);
}

// Adds what others delivered, what has become due, and what was done to its work items, to a job in memory.
// False: it cannot be read now.
bool Engine::merge_inbox(HotJob& job) {
  const RunId run = job.state.job.run;
  auto stored = store_.read_job(run);
  if (!stored) return false;
  if (!*stored) return true;
  std::unordered_set<core::Guid> known;
  for (const core::Delivery& delivery : job.queue) known.insert(delivery.message.guid);
  const auto merge = [&](core::InboxMessage& message, core::Origin origin) {
    if (known.insert(message.message.guid).second)
      job.queue.push_back(core::Delivery{std::move(message.message), origin, message.redeliveries});
  };
  const Instant now = clock_.now();
  for (core::InboxMessage& message : (*stored)->inbox) merge(message, core::Origin::loaded);
  for (core::InboxMessage& timer : (*stored)->timers) {
    if (timer.due > now) arm(store::Due{timer.due, run, store::Due::Kind::message, timer.message.guid});
    else if (!timers_held_.contains(timer.message.guid)) merge(timer, origin_of_timer(run, timer.due));
  }
  for (const auto& [seq, item] : (*stored)->state.work()) job.state.put(item);
  adopt_work(job, nullptr);
  return true;
}

Result<std::optional<core::WorkItem>> Engine::read_item(const WorkRef& ref) { return runtime::read_item(store_, ref); }

// A claim did not go as expected: the stored item says who has it.
void Engine::look_again(const WorkRef& ref, core::WorkToken before, const WorkNeed& need) {
  read_paused_topics();
  const auto read = read_item(ref);
  // Not readable now: claimed once more as before, which says no more and no less than it did.
  if (!read && read.error().code != ErrorCode::corrupt) desk_.wait(WaitingWork{ref, before, 0, 0, need});
  if (!read && read.error().code == ErrorCode::corrupt) return damaged(ref.run, read.error().detail);
  if (!read || !*read) return;
  const core::WorkItem& item = **read;
  if (HotJob* job = jobs_.find(ref.run)) job->state.put(item);
  // Our own claim whose reply was lost: the run has not begun, here or anywhere.
  const bool ours = item.token != before && item.token != core::WorkToken(0) && item.worker == options_.name &&
                    !desk_.is_running(ref, item.token) && item.epoch == lanes_.epoch(core::lane_of(ref.run));
  if (ours) go_on_with_claim(item);
  else adopt(item, Slot::wanted);
}

// Whether its final answer waits here, not committed yet: then nobody needs to run it again.
bool Engine::is_answered(const core::WorkItem& item) {
  if (const HotJob* job = jobs_.find(item.run)) return has_answer(job->queue, item);
  const auto waiting = unread_.find(item.run);
  return waiting != unread_.end() && has_answer(waiting->second, item);
}

// A hot job has a view of its own, newer than a page may be. What is claimed there under this epoch is with a
// worker, or its answer is on the way; the rest had no worker when it was put, or no room in the queue.
void Engine::adopt_scanned(const store::WorkPlace& place) {
  HotJob* job = jobs_.find(place.run);
  if (job == nullptr) {
    // Nobody here works for the topic: what its clock wants is in the list of times, so the job stays where it is.
    if (!desk_.serves(place.topic) && !probes_.contains(place.topic.raw())) return;
    // Loading it adopts its work, unless it is parked or its graph is not here: its answer could not be taken.
    if (!unread_.contains(place.run) && !blocked_.contains(place.run)) load(place.run, {});
    return;
  }
  const core::WorkItem* own = job->state.find_work(place.activity);
  if (own != nullptr && (own->token == core::WorkToken(0) || own->epoch != lanes_.epoch(core::lane_of(place.run))))
    adopt(*own, Slot::wanted);
}

void Engine::park_overrun() {
  for (std::size_t left = overrun_.size(); left > 0; --left) {
    const core::WorkItem item = std::move(overrun_.front());
    overrun_.pop_front();
    if (!lanes_.owns(core::lane_of(item.run), clock_.monotonic())) continue;
    HotJob* job = jobs_.find(item.run);
    if (job == nullptr) {
      load(item.run, {});
      job = jobs_.find(item.run);  // now, for the next job that idles may push it out again
    }
    if (job == nullptr) continue;
    if (job->in_flight) {
      overrun_.push_back(item);
    } else if (job->state.job.status == core::JobStatus::running && job->state.find_work(item.activity) != nullptr) {
      job->decision = core::Decision{};
      job->ready = false;
      jobs_.use(*job);
      launch(*job, core::park(job->state,
                              format("over_limit: work for topic {} was handed out {} times and never answered",
                                     item.topic.raw(), unanswered(item)),
                              decide_options(item.run)));
    }
  }
}

// Looks through a lane's inboxes, and through its work items if asked to.
void Engine::scan(core::LaneId lane, bool work) {
  for (Scan& waiting : scans_)
    if (waiting.lane == lane && waiting.inboxes && waiting.after_run == RunId(0)) {
      waiting.work = waiting.work || work;  // it has not begun: it will see it all
      return;
    }
  scans_.push_back(Scan{lane, true, work, RunId(0), {}});
}

void Engine::scan_work() {
  for (const core::LaneId lane : lanes_.owned(clock_.monotonic())) scan(lane, true);
}

// A little at each pump: whoever waits for this engine must not wait for all that is open.
void Engine::look_around() {
  if (stopping_) return;
  std::size_t left = limits::looks_per_turn;
  for (; left > 0 && !looks_.empty() && has_room(); --left) {
    const RunId run = looks_.front();
    looks_.pop_front();
    if (lanes_.owns(core::lane_of(run), clock_.monotonic())) look(run);
  }
  while (left > 0 && !scans_.empty() && turns_.waiting() < limits::recovery_page_rows && has_room()) {
    Scan& scan = scans_.front();
    const auto seen = lanes_.owns(scan.lane, clock_.monotonic()) ? scan_some(scan, left) : 0;
    if (!seen) return;  // tried again by next_wake()
    if (*seen == 0) scans_.pop_front();
    left -= *seen;
  }
}

// How many rows of the scan it looked at; 0: there are no more. None: they cannot be read now, or there is no room.
std::optional<std::size_t> Engine::scan_some(Scan& scan, std::size_t rows_max) {
  if (scan.inboxes) {
    const auto page = store_.read_waiting(scan.lane, scan.after_run, rows_max);
    if (!page) return cannot_scan(page.error());
    for (const store::Waiting& waiting : *page) {
      if (!has_room()) return std::nullopt;  // the rest when what was found is on its way
      scan.after_run = waiting.run;
      if (waiting.kind == store::EntityKind::job) look(waiting.run);
      else if (!seeded(SeededBug::mailbox_left_behind)) serve_mailbox(waiting.run);
    }
    if (!page->empty()) return page->size();
    scan.inboxes = false;
  }
  if (!scan.work) return 0;
  const auto page = store_.read_work_places(scan.lane, scan.after_work, rows_max);
  if (!page) return cannot_scan(page.error());
  for (const store::Damaged& row : page->damaged) damaged(row.run, row.what);
  for (const store::WorkPlace& place : *page) {
    if (!has_room()) return std::nullopt;
    scan.after_work = store::WorkCursor{place.run, place.activity};
    adopt_scanned(place);
  }
  return page->size();
}

// A read that fails once is tried again, and nobody needs to know; one that goes on failing is said, once.
std::optional<std::size_t> Engine::cannot_scan(const Error& error) {
  scan_failed_ = true;
  const Duration now = clock_.monotonic();
  if (!failing_since_) failing_since_ = now;
  if (!failing_said_ && now - *failing_since_ >= limits::reads_fail_silently_max) {
    events_.problem(format("cannot look for what waits, tried again until it works: {}", error.detail));
    failing_said_ = true;
  }
  return std::nullopt;
}

// What no store can have written stops its own job and nothing else. Said once: it is met at every look.
void Engine::damaged(RunId run, const std::string& what) {
  if (damaged_.size() >= limits::damaged_named_max || !damaged_.insert(run).second) return;
  events_.problem(format("{}; it is left as it is, all else goes on", what));
  HotJob* job = jobs_.find(run);
  if (job == nullptr) return park_damaged(run, what);
  job->damaged = what;
  if (job->in_flight) return;  // rest() sees to it
  forget(run);
  park_damaged(run, what);
}

// Its row is enough to stop it. If even that cannot be read, there is no job to stop.
void Engine::park_damaged(RunId run, const std::string& what) {
  if (!lanes_.owns(core::lane_of(run), clock_.monotonic())) return;
  store::ListQuery query;
  query.after = RunId(run.raw() - 1);
  query.rows_max = 1;
  const auto rows = store_.list_jobs(query);
  if (!rows || rows->empty() || rows->front().run != run || rows->front().status != core::JobStatus::running) return;
  core::JobState state;
  state.job = rows->front();
  HotJob& job = jobs_.add(std::move(state), nullptr);
  job.damaged = what;
  launch(job, core::park(job.state, "corrupt: " + what, decide_options(run)));
}

// Tells local workers whose run somebody else ended while this engine could not see it.
void Engine::look_at_runs() {
  for (const WorkRun& run : std::exchange(runs_in_doubt_, {})) {
    if (!desk_.is_running(run.ref, run.token)) continue;
    const auto item = read_item(run.ref);
    if (!item && item.error().code != ErrorCode::corrupt) runs_in_doubt_.push_back(run);
    else if (!item) damaged(run.ref.run, item.error().detail);
    else if (!*item || (*item)->token != run.token || (*item)->life.unknown) events_.cancel(run);
  }
}

void Engine::lane_taken(core::LaneId lane) {
  lane_lost(lane);
  lanes_.lost(lane, clock_.monotonic());
  // Its new owner hands the work out again, and takes no answer from here.
  for (const WorkRun& run : desk_.runs_in(lane)) events_.cancel(run);
}

void Engine::lane_lost(core::LaneId lane) {
  due_.erase(lane);
  std::erase_if(due_unread_, [&](const store::Due& due) { return core::lane_of(due.run) == lane; });
  for (const RunId run : jobs_.of_lane(lane)) forget(run);
  outboxes_.erase(lane);
  outboxes_out_.erase(lane);
  std::erase_if(mailboxes_, [&](RunId run) { return core::lane_of(run) == lane; });
  std::erase_if(mailboxes_out_, [&](RunId run) { return core::lane_of(run) == lane; });
  std::erase_if(probed_, [&](const auto& asked) { return core::lane_of(asked.first.run) == lane; });
  withdraw(pending_, lane);
  if (retry_) withdraw(*retry_, lane);
  std::erase_if(scans_, [&](const Scan& scan) { return scan.lane == lane; });
  for (auto it = unread_.begin(); it != unread_.end();) {
    if (core::lane_of(it->first) != lane) {
      ++it;
      continue;
    }
    abandon(it->first, it->second);
    it = unread_.erase(it);
  }
}

}  // namespace pawl::runtime
