// JobNames: how runs are called, for the work that is handed out. A run never changes its name, so the last ones are
// remembered: a read of the store for each attempt would cost more than the hand-out itself.
#pragma once

#include <cstddef>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>

#include "pawl/ids.h"
#include "runtime/handouts.h"

namespace pawl::serve {

using JobName = runtime::TakenWork::JobName;

class JobNames {
 public:
  explicit JobNames(std::size_t count_max) : half_(count_max / 2) {}

  void put(RunId run, const std::string& id, const std::string& name_space);
  std::optional<JobName> find(RunId run) const;

 private:
  const std::size_t half_;
  mutable std::mutex mutex_;
  // When the newer ones are too many, they take the place of the older ones. Guarded by mutex_.
  std::unordered_map<RunId, JobName> newer_, older_;
};

}  // namespace pawl::serve
