#include "runtime/waiters.h"

namespace pawl::runtime {

Waiters::Place::Place(Waiters& waiters, RunId run) : waiters_(waiters), run_(run) {
  const std::lock_guard lock(waiters_.mutex_);
  Entry& entry = waiters_.entries_[run_];
  ++entry.waiting;
  told_before_ = entry.told;
}

Waiters::Place::~Place() {
  const std::lock_guard lock(waiters_.mutex_);
  const auto found = waiters_.entries_.find(run_);
  if (--found->second.waiting == 0) waiters_.entries_.erase(found);
}

std::optional<JobView> Waiters::Place::wait(Duration at_most) {
  std::unique_lock lock(waiters_.mutex_);
  Entry& entry = waiters_.entries_.at(run_);
  const bool heard = waiters_.changed_.wait_for(lock, at_most, [&] { return entry.told != told_before_; });
  return heard ? entry.end : std::nullopt;
}

void Waiters::tell(const JobView& job) {
  {
    const std::lock_guard lock(mutex_);
    const auto found = entries_.find(job.run);
    if (found == entries_.end()) return;
    found->second.end = job;
    ++found->second.told;
  }
  changed_.notify_all();
}

}  // namespace pawl::runtime
