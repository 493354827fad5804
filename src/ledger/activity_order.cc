#include "ledger/activity_order.h"

#include "base/format.h"

#include <algorithm>

namespace pawl::ledger {

Result<ActivityOrder> ActivityOrder::of(std::vector<std::string> ids) {
  if (ids.empty()) return Error{ErrorCode::invalid, "a graph has at least one activity"};
  if (ids.size() > activities_max)
    return Error{ErrorCode::over_limit,
                 format("{} activities in one graph; at most {} are allowed", ids.size(), activities_max)};
  std::sort(ids.begin(), ids.end());
  if (ids.front().empty()) return Error{ErrorCode::invalid, "an activity has no id"};
  const auto twin = std::adjacent_find(ids.begin(), ids.end());
  if (twin != ids.end()) return Error{ErrorCode::invalid, format("two activities are called \"{}\"", *twin)};
  return ActivityOrder(std::move(ids));
}

std::optional<std::size_t> ActivityOrder::find_position(std::string_view id) const {
  const auto found = std::lower_bound(ids_.begin(), ids_.end(), id);
  if (found == ids_.end() || *found != id) return std::nullopt;
  return static_cast<std::size_t>(found - ids_.begin());
}

}  // namespace pawl::ledger
