// The activities of a job as lines of a tree. A chain stays at one depth; where several follow, each is one deeper. Of
// many rounds of a cycle, or items of a map, the first and the last are shown, and those that are open or failed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "pawl/view.h"

namespace pawl::cli {

struct TreeLine {
  std::size_t depth = 0;
  std::optional<std::size_t> activity;  // in JobDetail::activities; none: the line is words alone
  bool plane = false;                   // it begins a round or an item: `words` says which
  std::string words{};
};

// The cost grows with the number of activities, not faster.
std::vector<TreeLine> tree_of(const JobDetail& detail, bool full);

}  // namespace pawl::cli
