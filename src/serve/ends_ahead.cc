#include "serve/ends_ahead.h"

#include <algorithm>
#include <utility>

#include "serve/limits.h"

namespace pawl::serve {

namespace {

constexpr std::size_t runs_max = 20'000;  // that are remembered
constexpr std::size_t window_min = 4;
constexpr std::size_t bytes_max = 16u << 20;
constexpr std::chrono::seconds kept_max{10};  // a job may be removed

std::size_t bytes_of(const JobView& job) { return sizeof(JobView) + job.data.size() + job.result.size(); }

}  // namespace

void EndsAhead::started(const std::vector<RunId>& runs) {
  if (runs.size() < 2) return;
  const std::lock_guard lock(mutex_);
  for (const RunId run : runs) {
    if (!places_.emplace(run, next_place_).second) continue;
    order_.emplace(next_place_++, run);
  }
  while (order_.size() > runs_max) drop(order_.begin()->second);
}

void EndsAhead::drop(RunId run) {
  const auto place = places_.find(run);
  if (place == places_.end()) return;
  order_.erase(place->second);
  places_.erase(place);
}

std::optional<JobView> EndsAhead::take(RunId run) {
  const std::lock_guard lock(mutex_);
  const auto end = ends_.find(run);
  if (end == ends_.end()) return std::nullopt;
  bytes_ -= bytes_of(end->second.job);
  std::optional<JobView> job;
  if (Clock::now() < end->second.until) job = std::move(end->second.job);
  ends_.erase(end);
  return job;
}

std::vector<RunId> EndsAhead::next(RunId run) {
  const std::lock_guard lock(mutex_);
  std::vector<RunId> runs;
  const auto place = places_.find(run);
  if (place == places_.end()) return runs;
  auto one = order_.upper_bound(place->second);
  drop(run);
  while (one != order_.end() && runs.size() < window_) {
    runs.push_back(one->second);
    one = order_.erase(one);
  }
  return runs;
}

void EndsAhead::came(const std::vector<RunId>& asked, std::vector<JobView> ends) {
  if (asked.empty()) return;
  const std::lock_guard lock(mutex_);
  std::size_t count = 0;
  for (JobView& job : ends) {
    const auto place = places_.find(job.run);
    if (job.status != JobStatus::completed || place == places_.end()) continue;
    ++count;
    places_.erase(place);
    bytes_ += bytes_of(job);
    const RunId run = job.run;
    ends_.insert_or_assign(run, End{std::move(job), Clock::now() + kept_max});
  }
  for (const RunId run : asked)
    if (const auto place = places_.find(run); place != places_.end()) order_.emplace(place->second, run);
  if (count == asked.size())
    window_ = std::min(2 * window_, limits::results_max - 1);
  else if (2 * count < asked.size())
    window_ = std::max(window_ / 2, window_min);
  if (bytes_ <= bytes_max) return;
  ends_.clear();  // nobody waits for them: they are asked for again
  bytes_ = 0;
}

void EndsAhead::forget(RunId run) {
  const std::lock_guard lock(mutex_);
  drop(run);
  if (const auto end = ends_.find(run); end != ends_.end()) {
    bytes_ -= bytes_of(end->second.job);
    ends_.erase(end);
  }
}

}  // namespace pawl::serve
