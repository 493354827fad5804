// Loader: single jobs.
#include "runtime/loader.h"

#include <algorithm>
#include <utility>

#include "base/format.h"
#include "base/seeded_bug.h"
#include "runtime/parts.h"

namespace pawl::runtime {

namespace {

// Whether the bundle, whose outcome is unknown, claimed exactly this attempt for a local worker: it never began.
bool is_claimed_by(const core::Bundle* bundle, const core::WorkItem& item) {
  return bundle != nullptr && std::any_of(bundle->writes.begin(), bundle->writes.end(), [&](const core::Write& write) {
           const auto* put = std::get_if<core::PutWork>(&write);
           return put != nullptr && put->item == item && item.token != core::WorkToken(0);
         });
}

}  // namespace

void Loader::load(OwnedLane& lane, RunId run, std::vector<core::Delivery> unstored,
                  std::shared_ptr<const core::Bundle> uncertain) {
  if (HotJob* known = parts_.jobs.find(run)) {
    for (core::Delivery& delivery : unstored) known->queue.push_back(std::move(delivery));
    return parts_.jobs.make_ready(*known);
  }
  Unread& unread = lane.unread[run];
  unread.ahead = false;
  for (core::Delivery& delivery : unstored) unread.deliveries.push_back(std::move(delivery));
  if (uncertain != nullptr) unread.uncertain = std::move(uncertain);
  if (unread.asked)
    unread.look = true;
  else
    read(lane, run);
}

void Loader::load_mailbox(OwnedLane& lane, RunId run) {
  Unread& unread = lane.unread[run];
  unread.kind = store::EntityKind::mailbox;
  unread.ahead = false;
  if (unread.asked)
    unread.look = true;
  else
    read(lane, run);
}

void Loader::read(OwnedLane& lane, RunId run) {
  Unread& unread = lane.unread[run];
  unread.asked = true;
  unread.look = false;
  const auto take = [this, run](OwnedLane& its_lane, auto stored) { loaded(its_lane, run, std::move(stored)); };
  if (unread.kind == store::EntityKind::job)
    parts_.reads.ask(lane, store::ReadJob{run}, take);
  else
    parts_.reads.ask(lane, store::ReadMailboxPage{run, parts_.options.mailbox_page, parts_.clock.now()}, take);
}

// What waited for this reply, if the reply can be used. Otherwise tick() reads again, or the row is damaged.
template <class Stored>
std::optional<Unread> Loader::take_unread(OwnedLane& lane, RunId run, const Stored& stored) {
  const auto place = lane.unread.find(run);
  if (place == lane.unread.end()) return std::nullopt;
  const bool fails = !stored && stored.error().code != ErrorCode::corrupt;
  // Many were asked for at once, and there is no room for all of them: read again later.
  const bool too_many = parts_.options.reads_later && !parts_.has_room() && place->second.may_wait();
  if (fails || too_many) {
    place->second.asked = false;
    return std::nullopt;
  }
  Unread unread = std::move(place->second);
  lane.unread.erase(place);
  if (stored) return unread;
  if (unread.kind == store::EntityKind::mailbox) parts_.mailboxes.damaged(run);
  damaged(run, stored.error().detail);
  return std::nullopt;
}

void Loader::loaded(OwnedLane& lane, RunId run, store::AnswerTo<store::ReadMailboxPage> page) {
  const auto unread = take_unread(lane, run, page);
  if (!unread) return;
  if (unread->look && !*page) return load(lane, run, {});  // it may have come since, and be a job
  if (unread->look) parts_.mailboxes.serve(lane, run);
  if (*page) parts_.mailboxes.decide(lane, std::move(**page));
}

void Loader::loaded(OwnedLane& lane, RunId run, store::AnswerTo<store::ReadJob> stored) {
  auto waited = take_unread(lane, run, stored);
  if (!waited) return;
  Unread& unread = *waited;
  if (!*stored) parts_.workshop.abandon(run, unread.deliveries);  // no longer needed
  if (!*stored && unread.look) return load(lane, run, {});        // it may have come since
  if (!*stored && unread.ahead) return;                           // it is served when its time comes
  if (!*stored) return parts_.mailboxes.serve(lane, run);         // if it is a mailbox
  const core::JobRow& job = (*stored)->state.job;
  // The bundle with the lost reply was the job's end: callers that wait for it are notified now.
  if (unread.uncertain != nullptr && core::is_closed(job.status) && job.completions > 0) parts_.events.closed(job);
  const Instant now = parts_.clock.now();
  const bool timer_is_due = std::any_of((*stored)->timers.begin(), (*stored)->timers.end(),
                                        [&](const core::InboxMessage& timer) { return timer.due <= now; });
  const bool nothing_to_do =
      (*stored)->inbox.empty() && unread.deliveries.empty() && !timer_is_due && job.status != core::JobStatus::running;
  if (nothing_to_do) {
    for (const core::InboxMessage& timer : (*stored)->timers)
      parts_.alarms.arm(lane, store::Due{timer.due, run, store::Due::Kind::message, timer.message.guid});
    if (unread.look) load(lane, run, {});
    return;
  }
  auto graph = parts_.graphs.find(job.graph);
  if (graph == nullptr) {
    parts_.workshop.abandon(run, unread.deliveries);
    blocked_.emplace(run, job.graph);
    if (std::find(not_deployed_.begin(), not_deployed_.end(), job.graph) != not_deployed_.end()) return;
    not_deployed_.push_back(job.graph);
    parts_.events.problem(
        format("graph {} version {} is not deployed here with the content that job {} started on: this job and all "
               "others of it wait until it is",
               job.graph.name.raw(), job.graph.version, job.id.raw()));
    return;
  }
  enter(lane, std::move(**stored), std::move(graph), std::move(unread));
}

void Loader::enter(OwnedLane& lane, store::StoredJob stored, std::shared_ptr<const Graph> graph, Unread unread) {
  HotJob& job = parts_.jobs.add(std::move(stored.state), std::move(graph));
  const RunId run = job.state.job.run;
  for (core::InboxMessage& message : stored.inbox) {
    const bool fresh = message.redeliveries == 0 && std::find(unread.fresh.begin(), unread.fresh.end(),
                                                              message.message.guid) != unread.fresh.end();
    parts_.jobs.queue(job, {std::move(message.message), fresh ? core::Origin::memory : core::Origin::loaded,
                            message.redeliveries});
  }
  const Instant now = parts_.clock.now();
  std::vector<store::Due> hooks;  // a signal may go first: it must be looked up
  for (core::InboxMessage& timer : stored.timers) {
    const store::Due due{timer.due, run, store::Due::Kind::message, timer.message.guid};
    if (timer.due > now) job.wakes(timer.due);
    if (timer.due > now && !seeded(SeededBug::timer_early)) {
      parts_.alarms.arm(lane, due);  // perhaps set by another process
      if (timer.due <= now + limits::short_wait_max) job.keep_timer(std::move(timer));
    } else if (job.state.job.status == core::JobStatus::running &&
               parts_.mailboxes.may_have_signal(job.state, timer.message)) {
      hooks.push_back(due);
    } else {
      parts_.jobs.queue(job,
                        {std::move(timer.message), parts_.alarms.origin_of_timer(lane, timer.due), timer.redeliveries});
    }
  }
  for (core::Delivery& delivery : unread.deliveries) job.queue.push_back(std::move(delivery));
  adopt_work(lane, job, unread.uncertain.get());
  job.look_again = unread.look;
  parts_.jobs.begin_lookup(job);  // it stays until the last of them is looked up
  parts_.jobs.make_ready(job);
  for (const store::Due& due : hooks) parts_.alarms.fire_message(lane, due);
  parts_.jobs.end_lookup(run);  // it rests, if nothing came of that
}

void Loader::load_if_cold(OwnedLane& lane, RunId run) {
  if (const auto unread = lane.unread.find(run); unread != lane.unread.end())
    unread->second.ahead = false;
  else if (!blocked_.contains(run))
    load(lane, run, {});
}

void Loader::load_ahead(OwnedLane& lane, RunId run) {
  if (parts_.jobs.find(run) != nullptr || lane.unread.contains(run) || blocked_.contains(run)) return;
  lane.unread[run].ahead = true;
  read(lane, run);
}

// Looks at every work item of a job that was just read.
void Loader::adopt_work(OwnedLane& lane, HotJob& job, const core::Bundle* uncertain) {
  // A stopped job's work is not handed out: the job could not take the reply.
  if (job.state.job.status != core::JobStatus::running) return;
  std::vector<core::WorkItem> items;
  for (const auto& [seq, item] : job.state.work()) items.push_back(item);
  std::sort(items.begin(), items.end(), [](const auto& a, const auto& b) { return a.activity < b.activity; });
  for (const core::WorkItem& item : items) {
    if (parts_.workshop.is_answered(lane, item)) continue;
    if (is_claimed_by(uncertain, item))
      parts_.workshop.go_on_with_claim(lane, item);
    else
      parts_.workshop.adopt(lane, item);
  }
}

// Stored deliveries are read again with the job; a reply that was never stored exists only here.
void Loader::reload(core::Bundle uncertain) {
  const RunId run = uncertain.entity;
  std::vector<core::Delivery> unstored;
  if (HotJob* job = parts_.jobs.find(run)) {
    parts_.workshop.doubt(parts_.workshop.runs_ended_by(job->state, uncertain));
    unstored = Jobs::take_unstored(*job);
    parts_.far_replies.take_out(run, unstored);
    parts_.jobs.forget(run);
  }
  OwnedLane* lane = parts_.lanes.mine(run);
  if (lane == nullptr) return parts_.workshop.abandon(run, unstored);
  load(*lane, run, std::move(unstored), std::make_shared<const core::Bundle>(std::move(uncertain)));
}

void Loader::read_as_job(OwnedLane& lane, RunId run) {
  Unread& unread = lane.unread.at(run);
  unread.kind = store::EntityKind::job;
  unread.look = true;
}

void Loader::look(OwnedLane& lane, RunId run) {
  if (blocked_.contains(run)) return;
  if (const auto unread = lane.unread.find(run); unread != lane.unread.end()) {
    unread->second.look = true;
    unread->second.ahead = false;
    return;
  }
  HotJob* job = parts_.jobs.find(run);
  if (job == nullptr)
    load(lane, run, {});
  else if (job->in_flight)
    job->look_again = true;
  else
    merge_inbox(lane, *job);
}

void Loader::load_for(OwnedLane& lane, RunId run, const core::Guid& fresh) {
  if (blocked_.contains(run)) return;
  if (!lane.unread.contains(run)) lane.unread[run].fresh.push_back(fresh);
  load(lane, run, {});
}

void Loader::merge_inbox(OwnedLane& lane, HotJob& job) {
  const RunId run = job.state.job.run;
  parts_.jobs.hold(job);
  parts_.reads.ask(lane, store::ReadJob{run}, [this, run](OwnedLane& its_lane, store::AnswerTo<store::ReadJob> stored) {
    merged(its_lane, run, std::move(stored));
  });
}

void Loader::merged(OwnedLane& lane, RunId run, store::AnswerTo<store::ReadJob> stored) {
  HotJob* job = parts_.jobs.release(run);
  if (job == nullptr) return;
  if (!stored) return parts_.jobs.set_aside(*job);
  if (*stored) {
    std::unordered_set<core::Guid> known;
    for (const core::Delivery& delivery : job->queue) known.insert(delivery.message.guid);
    const auto merge = [&](core::InboxMessage& message, core::Origin origin) {
      if (known.insert(message.message.guid).second)
        job->queue.push_back(core::Delivery{std::move(message.message), origin, message.redeliveries});
    };
    const Instant now = parts_.clock.now();
    for (core::InboxMessage& message : (*stored)->inbox) merge(message, core::Origin::loaded);
    for (core::InboxMessage& timer : (*stored)->timers) {
      if (timer.due > now)
        parts_.alarms.arm(lane, store::Due{timer.due, run, store::Due::Kind::message, timer.message.guid});
      else if (!parts_.mailboxes.holds(timer.message.guid))
        merge(timer, parts_.alarms.origin_of_timer(lane, timer.due));
    }
    for (const auto& [seq, item] : (*stored)->state.work()) job->state.put(item);
    adopt_work(lane, *job, nullptr);
  }
  parts_.jobs.rest(*job);
}

// Only the jobs whose graph was deployed: many may wait for another one.
void Loader::graphs_changed() {
  std::vector<std::pair<core::GraphRef, bool>> asked;
  const auto is_here = [&](const core::GraphRef& ref) {
    for (const auto& [known, here] : asked)
      if (known == ref) return here;
    asked.emplace_back(ref, parts_.graphs.find(ref) != nullptr);
    return asked.back().second;
  };
  std::vector<RunId> free;
  for (const auto& [run, ref] : blocked_)
    if (is_here(ref)) free.push_back(run);
  std::sort(free.begin(), free.end());  // the same order on every machine: the simulator repeats its runs
  for (const RunId run : free) blocked_.erase(run);
  std::erase_if(not_deployed_, is_here);
  look_soon(free);
}

void Loader::read_labelled(OwnedLane& lane, HotJob& job, const core::Delivery& signal) {
  const auto& expand = std::get<core::Expand>(signal.message.body);
  store::ListQuery query;
  query.name_space = job.state.job.name_space;
  query.label = store::ListQuery::Labelled{expand.graph, expand.label.name, expand.label.value, expand.label.key, true};
  query.names_only = true;
  query.after = expand.after;
  query.rows_max = std::clamp<std::size_t>(limits::signal_page_bytes / std::max<std::size_t>(expand.data.size(), 1), 1,
                                           parts_.options.signal_page_jobs);
  const std::size_t rows_max = query.rows_max;
  const RunId run = job.state.job.run;
  const core::Guid guid = signal.message.guid;
  parts_.jobs.hold(job);
  parts_.reads.ask(lane, store::ListJobs{std::move(query)},
                   [this, run, guid, rows_max](OwnedLane&, const store::AnswerTo<store::ListJobs>& rows) {
                     HotJob* asked = parts_.jobs.release(run);
                     if (asked == nullptr) return;
                     if (!rows && rows.error().code == ErrorCode::corrupt)
                       parts_.events.problem(format("job {}: a page of jobs cannot be read: {}",
                                                    asked->state.job.id.raw(), rows.error().detail));
                     if (!rows) return parts_.jobs.set_aside(*asked);
                     core::Page page;
                     for (const core::JobRow& row : *rows) page.jobs.emplace_back(row.run, row.id);
                     page.last = rows->size() < rows_max;
                     for (core::Delivery& delivery : asked->queue)
                       if (delivery.message.guid == guid) delivery.page = std::move(page);
                     parts_.jobs.make_ready(*asked);
                   });
}

void Loader::damaged(RunId run, const std::string& what) {
  if (damaged_.size() >= limits::damaged_named_max || !damaged_.insert(run).second) return;
  parts_.events.problem(format("{}; it is left as it is, all else goes on", what));
  HotJob* job = parts_.jobs.find(run);
  if (job == nullptr) return park_damaged(run, what);
  job->damaged = what;
  if (job->in_flight) return;  // Jobs::rest() does it
  parts_.jobs.forget(run);
  park_damaged(run, what);
}

// Its row is enough to stop it. If even the row cannot be read, there is no job to stop.
void Loader::park_damaged(RunId run, const std::string& what) {
  OwnedLane* lane = parts_.lanes.mine(run);
  if (lane == nullptr) return;
  store::ListQuery query;
  query.after = RunId(run.raw() - 1);
  query.rows_max = 1;
  parts_.reads.ask(
      *lane, store::ListJobs{std::move(query)},
      [this, run, what](OwnedLane& its_lane, const store::AnswerTo<store::ListJobs>& rows) {
        if (!rows && rows.error().code != ErrorCode::corrupt) its_lane.unparked.emplace(run, what);  // tick() retries
        if (!rows || rows->empty() || rows->front().run != run || rows->front().status != core::JobStatus::running)
          return;
        if (parts_.jobs.find(run) != nullptr) return;  // read after all, or stopped meanwhile
        core::JobState state;
        state.job = rows->front();
        HotJob& job = parts_.jobs.add(std::move(state), nullptr);
        job.damaged = what;
        parts_.jobs.park(its_lane, job, "corrupt: " + what);
      });
}

}  // namespace pawl::runtime
