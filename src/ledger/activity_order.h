// ActivityOrder: which position of a collation key belongs to which activity of a graph. The ids are in ascending byte
// order, because a graph does not order siblings.
#pragma once

#include "base/limits.h"
#include "pawl/result.h"

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace pawl::ledger {

class ActivityOrder {
 public:
  static constexpr std::size_t activities_max = limits::graph_activities_max;

  // Sorts. Fails with invalid when there is no id, an empty id or the same id twice.
  static Result<ActivityOrder> of(std::vector<std::string> ids);

  std::optional<std::size_t> find_position(std::string_view id) const;  // from 0
  const std::vector<std::string>& ids() const { return ids_; }

 private:
  explicit ActivityOrder(std::vector<std::string> ids) : ids_(std::move(ids)) {}
  std::vector<std::string> ids_;
};

}  // namespace pawl::ledger
