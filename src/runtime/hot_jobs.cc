#include "runtime/hot_jobs.h"

#include <algorithm>

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
  jobs_.erase(found);
}

void HotJobs::use(HotJob& job) {
  if (!job.idle) return;
  idle_order_.erase(*job.idle);
  job.idle.reset();
}

void HotJobs::idle(HotJob& job) {
  use(job);
  idle_order_.push_back(job.state.job.run);
  job.idle = std::prev(idle_order_.end());
  // The newest stays in any case: its caller still holds it.
  while (idle_order_.size() > std::max<std::size_t>(idle_max_, 1)) erase(idle_order_.front());
}

std::vector<RunId> HotJobs::of_lane(core::LaneId lane) const {
  std::vector<RunId> runs;
  for (const auto& [run, job] : jobs_)
    if (core::lane_of(run) == lane) runs.push_back(run);
  std::sort(runs.begin(), runs.end());  // the same order on every machine: the simulator repeats runs
  return runs;
}

}  // namespace pawl::runtime
