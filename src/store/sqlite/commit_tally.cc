#include "store/sqlite/commit_tally.h"

#include <algorithm>

#include "store/sqlite/limits.h"

namespace pawl::store::sqlite {

void CommitTally::know(std::int64_t commit) {
  const std::lock_guard lock(mutex_);
  latest_ = std::max(latest_, commit);
  if (commit <= known_until_) return;
  if (commit != known_until_ + 1) {
    // When it is full the gap stays until the owner has looked everywhere and calls forgive().
    if (beyond_.size() < limits::commits_beyond_gap_max) beyond_.insert(commit);
    return;
  }
  known_until_ = commit;
  while (!beyond_.empty() && *beyond_.begin() == known_until_ + 1) {
    known_until_ = *beyond_.begin();
    beyond_.erase(beyond_.begin());
  }
}

void CommitTally::see(std::int64_t commit) {
  const std::lock_guard lock(mutex_);
  latest_ = std::max(latest_, commit);
}

bool CommitTally::has_gap() const {
  const std::lock_guard lock(mutex_);
  return gap();
}

void CommitTally::forgive() {
  const std::lock_guard lock(mutex_);
  known_until_ = latest_;
  beyond_.clear();
}

}  // namespace pawl::store::sqlite
