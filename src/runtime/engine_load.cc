// Engine: what is read from the store: cold jobs, jobs whose outcome is not known, lanes after a take-over.
#include <algorithm>
#include <utility>

#include "base/format.h"
#include "base/invariant.h"
#include "base/seeded_bug.h"
#include "runtime/engine.h"

namespace pawl::runtime {

void Engine::forget(RunId run) {
  if (const HotJob* job = jobs_.find(run)) abandon(run, job->queue);
  jobs_.erase(run);
  if (suspect_out_ == run) next_suspect();
}

// These deliveries are lost with their job's place in memory.
void Engine::abandon(RunId run, const std::vector<core::Delivery>& deliveries) {
  for (const core::Delivery& delivery : deliveries)
    if (const auto* response = std::get_if<core::Response>(&delivery.message.body))
      if (delivery.origin == core::Origin::unstored) desk_.abandon(WorkRef{run, response->activity}, response->token);
}

// Suspects are served one at a time: only the one that is out can be counted again if the process dies.
void Engine::next_suspect() {
  suspect_out_.reset();
  while (!suspects_.empty() && !suspect_out_) {
    HotJob* next = jobs_.find(suspects_.front());
    suspects_.pop_front();
    if (next != nullptr) make_ready(*next);
  }
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
    if (stored.error().code == ErrorCode::corrupt) {
      events_.problem(format("run {}: {}", run.raw(), stored.error().detail));
    } else {
      unread_.emplace(run, std::move(unstored));
    }
    return nullptr;
  }
  if (!*stored) {
    serve_mailbox(run);  // if it is one
    return nullptr;
  }
  core::JobState& state = (*stored)->state;
  const Instant now = clock_.now();
  for (core::InboxMessage& timer : (*stored)->timers)
    if (timer.due <= now || seeded(SeededBug::timer_early)) (*stored)->inbox.push_back(std::move(timer));
  const bool nothing_to_do =
      (*stored)->inbox.empty() && unstored.empty() && state.job.status != core::JobStatus::running;
  if (nothing_to_do) return nullptr;
  auto graph = graphs_.find(state.job.graph);
  if (graph == nullptr) {
    if (blocked_.insert(run).second)
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
  for (core::InboxMessage& timer : (*stored)->timers)
    if (timer.due <= now) merge(timer, origin_of_timer(run, timer.due));
  for (const auto& [seq, item] : (*stored)->state.work()) job.state.put(item);
  adopt_work(job, nullptr);
  return true;
}

Result<std::optional<core::WorkItem>> Engine::read_item(const WorkRef& ref) {
  // Work items are read in order: this one is the first behind its predecessor's place.
  const store::WorkCursor before{ref.run, core::ActivitySeq(ref.activity.raw() - 1)};
  auto page = store_.read_work(core::lane_of(ref.run), before, 1);
  if (!page) return page.error();
  if (page->empty() || page->front().run != ref.run || page->front().activity != ref.activity)
    return std::optional<core::WorkItem>();
  return std::optional<core::WorkItem>(std::move(page->front()));
}

// A claim did not go as expected: the stored item says who has it.
void Engine::look_again(const WorkRef& ref, core::WorkToken before, bool once) {
  read_paused_topics();
  const auto read = read_item(ref);
  // Not readable now: claimed once more as before, which says no more and no less than it did.
  if (!read && read.error().code != ErrorCode::corrupt) desk_.wait(WaitingWork{ref, before, 0, 0, once});
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
void Engine::adopt_scanned(const core::WorkItem& item) {
  HotJob* job = jobs_.find(item.run);
  if (job == nullptr) {
    // Loading it adopts its work, unless it is parked or its graph is not here: its answer could not be taken.
    if (!unread_.contains(item.run) && !blocked_.contains(item.run)) load(item.run, {});
    return;
  }
  const core::WorkItem* own = job->state.find_work(item.activity);
  if (own != nullptr && (own->token == core::WorkToken(0) || own->epoch != lanes_.epoch(core::lane_of(item.run))))
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

void Engine::scan_some() {
  while (!scans_.empty() && ready_.size() < limits::recovery_page_rows) {
    Scan& scan = scans_.front();
    if (!lanes_.owns(scan.lane, clock_.monotonic())) {
      scans_.pop_front();
      continue;
    }
    if (scan.inboxes) {
      const auto page = store_.read_waiting(scan.lane, scan.after_run, limits::recovery_page_rows);
      if (!page) return;  // tried again at the next pump
      for (const store::Waiting& waiting : *page) {
        scan.after_run = waiting.run;
        if (waiting.kind == store::EntityKind::job) look(waiting.run);
        else if (!seeded(SeededBug::mailbox_left_behind)) serve_mailbox(waiting.run);
      }
      if (page->empty()) scan.inboxes = false;
      continue;
    }
    if (!scan.work) {
      scans_.pop_front();
      continue;
    }
    const auto page = store_.read_work(scan.lane, scan.after_work, limits::recovery_page_rows);
    if (!page) return;
    for (const core::WorkItem& item : *page) {
      scan.after_work = store::WorkCursor{item.run, item.activity};
      adopt_scanned(item);
    }
    if (page->empty()) scans_.pop_front();
  }
}

// Tells local workers whose run somebody else ended while this engine could not see it.
void Engine::look_at_runs() {
  for (const WorkRun& run : std::exchange(runs_in_doubt_, {})) {
    if (!desk_.is_running(run.ref, run.token)) continue;
    const auto item = read_item(run.ref);
    if (!item && item.error().code != ErrorCode::corrupt) runs_in_doubt_.push_back(run);
    else if (item && (!*item || (*item)->token != run.token || (*item)->life.unknown)) events_.cancel(run);
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
