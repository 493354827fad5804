// Labels, by which jobs are found, and measures, which are counted over jobs. Both are written with the commit of a
// job's start, so each job counts once. Both belong to the graph's name, over all its versions.
#pragma once

#include <optional>
#include <string>

namespace pawl::core {

// A job is found by a name and its value, within a group of jobs (`key`; empty: no group).
struct Label {
  std::string key;
  std::string name;
  std::string value;
  friend auto operator<=>(const Label&, const Label&) = default;
};

// One value of one job, added to a slice of time. With a `value` the jobs are counted by it; without one, `number` is
// added up.
struct Measure {
  std::string key;
  std::string slice;   // such as 202402291305; all texts have one width, so that their order is that of time
  std::string target;  // empty: the jobs themselves
  std::optional<std::string> value;
  double number = 1;
  friend bool operator==(const Measure&, const Measure&) = default;
};

}  // namespace pawl::core
