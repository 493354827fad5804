// OwnLanes: the lanes that this store's process holds, as far as it knows. Other processes need no notification of
// changes in them.
//
// This knowledge may be outdated: then another node has the lane and must be notified. So a lane counts only if the
// commit holds its row at the epoch that is known here. Nobody can take the lane before the commit, and a node that
// takes it later reads all of it.
#pragma once

#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <span>

#include "store/change.h"
#include "store/domain.h"
#include "store/operation.h"

namespace pawl::store::postgres {

class OwnLanes {
 public:
  // Called after a commit.
  void learn(std::span<const Operation> group, std::span<const Outcome> outcomes);
  std::optional<core::Epoch> epoch_of(core::LaneId lane) const;  // none: this process does not hold it
  // The change that others must be notified of: everything except changes in these lanes. `guards`: whether the commit
  // holds the lane's row and finds this epoch there.
  using Guards = std::function<bool(core::LaneId, core::Epoch)>;
  Change told_to_others(std::span<const Operation> group, std::span<const Outcome> outcomes,
                        const Guards& guards) const;

 private:
  mutable std::mutex mutex_;
  std::map<core::LaneId, core::Epoch> lanes_;
};

}  // namespace pawl::store::postgres
