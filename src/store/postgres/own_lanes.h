// OwnLanes: the lanes that this store's process holds, as far as it knows. What happens there it need not be told.
#pragma once

#include <mutex>
#include <set>
#include <span>

#include "store/change.h"
#include "store/domain.h"
#include "store/operation.h"

namespace pawl::store::postgres {

class OwnLanes {
 public:
  // After a commit.
  void learn(std::span<const Operation> group, std::span<const Outcome> outcomes);
  // What others have to hear of it: all but what happened in these lanes.
  Change told_to_others(std::span<const Operation> group, std::span<const Outcome> outcomes) const;

 private:
  mutable std::mutex mutex_;
  std::set<core::LaneId> lanes_;
};

}  // namespace pawl::store::postgres
