#include "serve/job_names.h"

#include <utility>

namespace pawl::serve {

void JobNames::put(RunId run, const std::string& id, const std::string& name_space) {
  const std::lock_guard lock(mutex_);
  if (newer_.contains(run)) return;
  if (newer_.size() >= half_) older_ = std::exchange(newer_, {});
  newer_.emplace(run, JobName{id, name_space});
}

std::optional<JobName> JobNames::find(RunId run) const {
  const std::lock_guard lock(mutex_);
  if (const auto found = newer_.find(run); found != newer_.end()) return found->second;
  if (const auto found = older_.find(run); found != older_.end()) return found->second;
  return std::nullopt;
}

}  // namespace pawl::serve
