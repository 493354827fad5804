// Loader: single jobs.
#include "runtime/loader.h"

#include <algorithm>
#include <utility>

#include "base/format.h"
#include "base/seeded_bug.h"
#include "runtime/parts.h"

namespace pawl::runtime {

namespace {

// Whether the bundle, whose outcome is not known, claimed this very run for a local worker: it never began.
bool is_claimed_by(const core::Bundle* bundle, const core::WorkItem& item) {
  return bundle != nullptr && std::any_of(bundle->writes.begin(), bundle->writes.end(), [&](const core::Write& write) {
           const auto* put = std::get_if<core::PutWork>(&write);
           return put != nullptr && put->item == item && item.token != core::WorkToken(0);
         });
}

}  // namespace

void Loader::load(OwnedLane& lane, RunId run, std::vector<core::Delivery> unstored, const core::Bundle* uncertain) {
  if (HotJob* known = parts_.jobs.find(run)) {
    for (core::Delivery& delivery : unstored) known->queue.push_back(std::move(delivery));
    return parts_.jobs.make_ready(*known);
  }
  auto stored = parts_.store.read_job(run);
  if (!stored) {
    if (stored.error().code == ErrorCode::corrupt) damaged(run, stored.error().detail);
    else lane.unread.emplace(run, std::move(unstored));
    return;
  }
  if (!*stored) return parts_.post.serve_mailbox(lane, run);  // if it is one
  core::JobState& state = (*stored)->state;
  const Instant now = parts_.clock.now();
  for (core::InboxMessage& timer : (*stored)->timers) {
    const store::Due due{timer.due, run, store::Due::Kind::message, timer.message.guid};
    if (timer.due > now && !seeded(SeededBug::timer_early)) parts_.alarms.arm(lane, due);  // perhaps put by others
    else if (parts_.post.signal_goes_first(state, timer.message)) lane.due_again.push_back(due);
    else (*stored)->inbox.push_back(std::move(timer));
  }
  const bool nothing_to_do =
      (*stored)->inbox.empty() && unstored.empty() && state.job.status != core::JobStatus::running;
  if (nothing_to_do) {
    // It was its end whose reply was lost: whoever waits for it hears of it now.
    if (uncertain != nullptr && core::is_closed(state.job.status) && state.job.completions > 0) parts_.events.closed(state.job);
    return;
  }
  auto graph = parts_.graphs.find(state.job.graph);
  if (graph == nullptr) {
    if (blocked_.emplace(run, state.job.graph).second)
      parts_.events.problem(format("job {} waits: graph {} version {} is not deployed here with the content it started on",
                                   state.job.id.raw(), state.job.graph.name.raw(), state.job.graph.version));
    return;
  }
  HotJob& job = parts_.jobs.add(std::move(state), std::move(graph));
  for (core::InboxMessage& message : (*stored)->inbox) {
    const auto origin = message.due == Instant() ? core::Origin::loaded : parts_.alarms.origin_of_timer(lane, message.due);
    core::Delivery delivery{std::move(message.message), origin, message.redeliveries};
    if (core::entries_before(job.state, delivery) >= limits::reentries_in_groups_max) job.suspect = true;
    job.queue.push_back(std::move(delivery));
  }
  for (core::Delivery& delivery : unstored) job.queue.push_back(std::move(delivery));
  adopt_work(lane, job, uncertain);
  if (job.queue.empty()) parts_.jobs.idle(job);
  else parts_.jobs.make_ready(job);
}

void Loader::load_if_cold(OwnedLane& lane, RunId run) {
  if (!lane.unread.contains(run) && !blocked_.contains(run)) load(lane, run, {});
}

// Looks at every work item of a job that was just read.
void Loader::adopt_work(OwnedLane& lane, HotJob& job, const core::Bundle* uncertain) {
  // A stopped job's work is not handed out: nobody would take the answer.
  if (job.state.job.status != core::JobStatus::running) return;
  std::vector<core::WorkItem> items;
  for (const auto& [seq, item] : job.state.work()) items.push_back(item);
  std::sort(items.begin(), items.end(), [](const auto& a, const auto& b) { return a.activity < b.activity; });
  for (const core::WorkItem& item : items) {
    if (parts_.workshop.is_answered(lane, item)) continue;
    if (is_claimed_by(uncertain, item)) parts_.workshop.go_on_with_claim(lane, item);
    else parts_.workshop.adopt(lane, item);
  }
}

// What has a row is read again with the job; an answer that never had one lives only here.
void Loader::reload(const core::Bundle& uncertain) {
  const RunId run = uncertain.entity;
  std::vector<core::Delivery> unstored;
  if (HotJob* job = parts_.jobs.find(run)) {
    parts_.workshop.doubt(parts_.workshop.runs_ended_by(job->state, uncertain));
    unstored = Jobs::take_unstored(*job);
    parts_.jobs.forget(run);
  }
  OwnedLane* lane = parts_.lanes.mine(run);
  if (lane == nullptr) return parts_.workshop.abandon(run, unstored);
  load(*lane, run, std::move(unstored), &uncertain);
}

void Loader::look(OwnedLane& lane, RunId run) {
  if (lane.unread.contains(run) || blocked_.contains(run)) return;
  HotJob* job = parts_.jobs.find(run);
  if (job == nullptr) {
    load(lane, run, {});
  } else if (job->in_flight) {
    job->look_again = true;
  } else {
    if (!merge_inbox(lane, *job)) return parts_.jobs.set_aside(*job);
    parts_.jobs.make_ready(*job);
  }
}

bool Loader::merge_inbox(OwnedLane& lane, HotJob& job) {
  const RunId run = job.state.job.run;
  auto stored = parts_.store.read_job(run);
  if (!stored) return false;
  if (!*stored) return true;
  std::unordered_set<core::Guid> known;
  for (const core::Delivery& delivery : job.queue) known.insert(delivery.message.guid);
  const auto merge = [&](core::InboxMessage& message, core::Origin origin) {
    if (known.insert(message.message.guid).second)
      job.queue.push_back(core::Delivery{std::move(message.message), origin, message.redeliveries});
  };
  const Instant now = parts_.clock.now();
  for (core::InboxMessage& message : (*stored)->inbox) merge(message, core::Origin::loaded);
  for (core::InboxMessage& timer : (*stored)->timers) {
    if (timer.due > now)
      parts_.alarms.arm(lane, store::Due{timer.due, run, store::Due::Kind::message, timer.message.guid});
    else if (!parts_.post.holds(timer.message.guid))
      merge(timer, parts_.alarms.origin_of_timer(lane, timer.due));
  }
  for (const auto& [seq, item] : (*stored)->state.work()) job.state.put(item);
  adopt_work(lane, job, nullptr);
  return true;
}

// Only those whose graph came: there may be many that wait for another one.
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
  std::sort(free.begin(), free.end());  // the same order on every machine: the simulator repeats runs
  for (const RunId run : free) blocked_.erase(run);
  look_soon(free);
}

std::optional<core::Page> Loader::read_labelled(const core::JobRow& job, const core::Expand& expand) {
  store::ListQuery query;
  query.name_space = job.name_space;
  query.label = store::ListQuery::Labelled{expand.graph, expand.label.name, expand.label.value, expand.label.key, true, true};
  query.after = expand.after;
  query.rows_max = std::clamp<std::size_t>(limits::signal_page_bytes / std::max<std::size_t>(expand.data.size(), 1), 1,
                                           parts_.options.signal_page_jobs);
  const auto rows = parts_.store.list_jobs(query);
  if (!rows && rows.error().code == ErrorCode::corrupt)
    parts_.events.problem(format("job {}: a page of jobs cannot be read: {}", job.id.raw(), rows.error().detail));
  if (!rows) return std::nullopt;
  core::Page page;
  for (const core::JobRow& row : *rows) page.jobs.emplace_back(row.run, row.id);
  page.last = rows->size() < query.rows_max;
  return page;
}

void Loader::damaged(RunId run, const std::string& what) {
  if (damaged_.size() >= limits::damaged_named_max || !damaged_.insert(run).second) return;
  parts_.events.problem(format("{}; it is left as it is, all else goes on", what));
  HotJob* job = parts_.jobs.find(run);
  if (job == nullptr) return park_damaged(run, what);
  job->damaged = what;
  if (job->in_flight) return;  // Jobs::rest() sees to it
  parts_.jobs.forget(run);
  park_damaged(run, what);
}

// Its row is enough to stop it. If even that cannot be read, there is no job to stop.
void Loader::park_damaged(RunId run, const std::string& what) {
  OwnedLane* lane = parts_.lanes.mine(run);
  if (lane == nullptr) return;
  store::ListQuery query;
  query.after = RunId(run.raw() - 1);
  query.rows_max = 1;
  const auto rows = parts_.store.list_jobs(query);
  if (!rows || rows->empty() || rows->front().run != run || rows->front().status != core::JobStatus::running) return;
  core::JobState state;
  state.job = rows->front();
  HotJob& job = parts_.jobs.add(std::move(state), nullptr);
  job.damaged = what;
  parts_.jobs.park(*lane, job, "corrupt: " + what);
}

}  // namespace pawl::runtime
