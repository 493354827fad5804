// OwnLanes: the lanes that this store's process holds, as far as it knows. What happens there nobody else need be told.
//
// What it knows may be over: then another node has the lane, and must hear. So only a lane whose row the commit holds,
// at the epoch that is known here, counts: nobody can take it before the commit, and whoever does so after it looks
// through it.
#pragma once

#include <functional>
#include <map>
#include <mutex>
#include <span>

#include "store/change.h"
#include "store/domain.h"
#include "store/operation.h"

namespace pawl::store::postgres {

class OwnLanes {
 public:
  // After a commit.
  void learn(std::span<const Operation> group, std::span<const Outcome> outcomes);
  // What others have to hear of it: all but what happened in these lanes. `guards`: whether the commit holds the lane's
  // row, and finds this epoch there.
  using Guards = std::function<bool(core::LaneId, core::Epoch)>;
  Change told_to_others(std::span<const Operation> group, std::span<const Outcome> outcomes,
                        const Guards& guards) const;

 private:
  mutable std::mutex mutex_;
  std::map<core::LaneId, core::Epoch> lanes_;
};

}  // namespace pawl::store::postgres
