#include "runtime/end_waiters.h"

#include <utility>
#include <vector>

#include "base/limits.h"
#include "runtime/views.h"

namespace pawl::runtime {

EndWaiters::Place::Place(EndWaiters& waiters, RunId run) : waiters_(waiters), run_(run) {
  const std::lock_guard lock(waiters_.mutex_);
  auto& entry = waiters_.entries_[run_];
  if (entry == nullptr) entry = std::make_shared<Entry>();
  ++entry->waiting;
  entry_ = entry;
  has_just_begun_ = waiters_.begun_.contains(run_);
  const std::lock_guard entry_lock(entry_->mutex);
  told_before_ = entry_->told;
  looks_before_ = entry_->looks;
}

EndWaiters::Place::~Place() {
  const std::lock_guard lock(waiters_.mutex_);
  if (--entry_->waiting == 0) waiters_.entries_.erase(run_);
}

std::optional<JobView> EndWaiters::Place::wait(Duration at_most) {
  std::unique_lock lock(entry_->mutex);
  entry_->changed.wait_for(lock, at_most,
                           [&] { return entry_->told != told_before_ || entry_->looks != looks_before_; });
  looks_before_ = entry_->looks;
  return entry_->told != told_before_ ? entry_->end : std::nullopt;
}

void EndWaiters::begun(RunId run) {
  const std::lock_guard lock(mutex_);
  if (!begun_.insert(run).second) return;
  begun_in_order_.push_back(run);
  if (begun_in_order_.size() <= limits::jobs_just_begun_max) return;
  begun_.erase(begun_in_order_.front());
  begun_in_order_.pop_front();
}

void EndWaiters::tell(const core::JobRow& job) {
  std::shared_ptr<Entry> entry;  // kept: the waiting thread may be gone before it is notified
  {
    const std::lock_guard lock(mutex_);
    begun_.erase(job.run);
    const auto found = entries_.find(job.run);
    if (found == entries_.end()) return;
    entry = found->second;
  }
  {
    const std::lock_guard lock(entry->mutex);
    if (core::is_closed(job.status)) {
      entry->end = view_of(job);
      ++entry->told;
    } else {
      ++entry->looks;
    }
  }
  entry->changed.notify_all();
}

void EndWaiters::look_again() {
  std::vector<std::shared_ptr<Entry>> entries;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& [run, entry] : entries_) entries.push_back(entry);
    begun_.clear();
    begun_in_order_.clear();
  }
  for (const auto& entry : entries) {
    {
      const std::lock_guard lock(entry->mutex);
      ++entry->looks;
    }
    entry->changed.notify_all();
  }
}

}  // namespace pawl::runtime
