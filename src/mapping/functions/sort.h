// The order of array.sort: null, booleans, numbers, strings, arrays, objects; within a kind,
// smaller first.
#pragma once

#include "mapping/budget.h"

#include <boost/json/fwd.hpp>

namespace pawl::mapping {

struct SortOrder {
  bool descending;
  bool locale_like;  // letters regardless of case first, as HotMesh's localeCompare orders them
};

// Stable. Leaves the array unchanged when the budget does not allow it.
void sort_values(boost::json::array& array, const SortOrder& order, Budget& budget);

}  // namespace pawl::mapping
