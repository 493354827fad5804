#include "runtime/hot_jobs.h"

#include <algorithm>

#include "base/limits.h"
#include "base/seeded_bug.h"
#include "runtime/bytes.h"

namespace pawl::runtime {

void HotJob::drop_done() {
  for (const std::size_t index : decision.entered) {
    queue[index].entered = true;
    ++queue[index].redeliveries;
  }
  if (decision.done.size() == queue.size()) {
    queue.clear();
  } else if (!decision.done.empty()) {
    std::vector<bool> done(queue.size(), false);
    for (const std::size_t index : decision.done) done[index] = true;
    std::vector<core::Delivery> left;
    for (std::size_t i = 0; i < queue.size(); ++i)
      if (!done[i]) left.push_back(std::move(queue[i]));
    queue = std::move(left);
  }
  decision = core::Decision{};
  queue_bytes = queue_weighed = 0;
}

bool HotJob::only_waits() const {
  return queue.empty() && !in_flight && lookups == 0 && !look_again && !has_children && state.work().empty();
}

void HotJob::wakes(Instant at) {
  if (wakes_at == Instant() || at < wakes_at) wakes_at = at;
}

void HotJob::keep_timer(core::InboxMessage timer) {
  timers_bytes += sizeof(timer) + bytes_of(timer.message);
  timers.push_back(std::move(timer));
}

bool HotJob::has_timer(const core::Guid& guid) const {
  return std::any_of(timers.begin(), timers.end(),
                     [&](const core::InboxMessage& timer) { return timer.message.guid == guid; });
}

std::optional<core::InboxMessage> HotJob::take_timer(const core::Guid& guid) {
  const auto found = std::find_if(timers.begin(), timers.end(),
                                  [&](const core::InboxMessage& timer) { return timer.message.guid == guid; });
  if (found == timers.end()) return std::nullopt;
  core::InboxMessage timer = std::move(*found);
  timers_bytes -= sizeof(timer) + bytes_of(timer.message);
  timers.erase(found);
  return timer;
}

void HotJob::forget_timers() {
  timers.clear();
  timers_bytes = 0;
}

HotJob* HotJobs::find(RunId run) {
  const auto found = jobs_.find(run);
  return found == jobs_.end() ? nullptr : found->second.get();
}

const HotJob* HotJobs::find(RunId run) const {
  const auto found = jobs_.find(run);
  return found == jobs_.end() ? nullptr : found->second.get();
}

HotJob& HotJobs::add(core::JobState state, std::shared_ptr<const Graph> graph) {
  const RunId run = state.job.run;
  erase(run);
  auto& slot = jobs_[run];
  slot = std::make_unique<HotJob>();
  slot->state = std::move(state);
  slot->graph = std::move(graph);
  return *slot;
}

void HotJobs::erase(RunId run) {
  const auto found = jobs_.find(run);
  if (found == jobs_.end()) return;
  use(*found->second);
  busy_bytes_ -= found->second->busy_bytes;
  jobs_.erase(found);
}

void HotJobs::weigh(HotJob& job) {
  if (job.queue.size() < job.queue_weighed) job.queue_bytes = job.queue_weighed = 0;
  for (; job.queue_weighed < job.queue.size(); ++job.queue_weighed)
    job.queue_bytes += bytes_of(job.queue[job.queue_weighed]);
  const std::size_t state = sizeof(HotJob) + job.state.bytes() + job.timers_bytes;
  const std::size_t bytes = state + job.queue_bytes;
  const std::size_t busy_bytes = std::min(state, limits::payload_bytes_max) + job.queue_bytes;
  if (job.idle)
    idle_bytes_ += bytes - job.bytes;
  else
    busy_bytes_ += busy_bytes - job.busy_bytes;
  job.bytes = bytes;
  job.busy_bytes = busy_bytes;
}

void HotJobs::use(HotJob& job) {
  if (!job.idle) return;
  idle_order_.erase(*job.idle);
  job.idle.reset();
  idle_bytes_ -= job.bytes;
  busy_bytes_ += job.busy_bytes;
}

void HotJobs::idle(HotJob& job) {
  use(job);
  weigh(job);
  idle_order_.push_back(job.state.job.run);
  job.idle = std::prev(idle_order_.end());
  busy_bytes_ -= job.busy_bytes;
  idle_bytes_ += job.bytes;
  const auto too_heavy = [&] { return idle_bytes_ > idle_bytes_max_ && !seeded(SeededBug::bytes_not_counted); };
  // The newest always stays: its caller still uses it.
  while (idle_order_.size() > 1 && (idle_order_.size() > idle_max_ || too_heavy())) erase(idle_order_.front());
}

std::vector<RunId> HotJobs::of_lane(core::LaneId lane) const {
  std::vector<RunId> runs;
  for (const auto& [run, job] : jobs_)
    if (core::lane_of(run) == lane) runs.push_back(run);
  std::sort(runs.begin(), runs.end());  // the same order on every machine: the simulator repeats its runs
  return runs;
}

}  // namespace pawl::runtime
