#include "cli/job_tree.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

namespace pawl::cli {

namespace {

constexpr std::size_t planes_shown_max = 4;    // of a cycle or a map, whole
constexpr std::size_t notable_shown_max = 10;  // open or failed ones between the first and the last
constexpr std::size_t depth_max = 24;

// What follows an activity in one of its planes.
struct Plane {
  std::uint32_t number;
  std::vector<std::size_t> children;
};

class Tree {
 public:
  Tree(const JobDetail& detail, bool full) : detail_(detail), full_(full), planes_(detail.activities.size()) {
    for (std::size_t i = 0; i < detail.activities.size(); ++i) {
      const ActivityView& activity = detail.activities[i];
      if (!activity.parent || *activity.parent >= detail.activities.size() || *activity.parent >= i) {
        roots_.push_back(i);
        continue;
      }
      auto& planes = planes_[*activity.parent];
      const auto at = std::lower_bound(planes.begin(), planes.end(), activity.plane,
                                       [](const Plane& plane, std::uint32_t number) { return plane.number < number; });
      if (at != planes.end() && at->number == activity.plane)
        at->children.push_back(i);
      else
        planes.insert(at, Plane{activity.plane, {i}});
    }
    // A child has a larger number than its parent: from the last to the first, each knows what is below it.
    notable_.resize(detail.activities.size());
    for (std::size_t i = detail.activities.size(); i-- > 0;) {
      const ActivityView& activity = detail.activities[i];
      notable_[i] = notable_[i] || activity.open() || activity.errored();
      if (notable_[i] && activity.parent && *activity.parent < i) notable_[*activity.parent] = true;
    }
  }

  std::vector<TreeLine> lines() {
    for (std::size_t i = roots_.size(); i-- > 0;) todo_.push_back({roots_[i], 0, std::nullopt});
    while (!todo_.empty()) {
      Todo next = std::move(todo_.back());
      todo_.pop_back();
      if (!next.activity) {
        made_.push_back({next.depth, std::nullopt, false, std::move(*next.words)});
        continue;
      }
      made_.push_back({next.depth, next.activity, next.words.has_value(), next.words.value_or("")});
      push_below(*next.activity, next.depth);
    }
    return std::move(made_);
  }

 private:
  struct Todo {
    std::optional<std::size_t> activity;
    std::size_t depth;
    std::optional<std::string> words;
  };

  void push_below(std::size_t activity, std::size_t depth) {
    const std::vector<Plane>& planes = planes_[activity];
    if (planes.empty()) return;
    if (planes.size() == 1 && planes[0].children.size() == 1)
      return todo_.push_back({planes[0].children[0], depth, std::nullopt});
    const std::size_t deeper = std::min(depth + 1, depth_max);
    std::vector<Todo> below;
    const bool is_map = detail_.activities[activity].kind == ActivityKind::map;
    std::size_t hidden = 0, notable = 0;
    const auto flush = [&] {
      if (hidden > 0)
        below.push_back(
            {std::nullopt, deeper, fmt::format("... {} {} like these", hidden, is_map ? "items" : "rounds")});
      hidden = 0;
    };
    for (std::size_t i = 0; i < planes.size(); ++i) {
      const Plane& plane = planes[i];
      const bool edge = i < planes_shown_max / 2 || i + planes_shown_max / 2 >= planes.size();
      const bool has =
          std::any_of(plane.children.begin(), plane.children.end(), [&](std::size_t c) { return notable_[c]; });
      const bool show = full_ || planes.size() <= planes_shown_max || edge || (has && ++notable <= notable_shown_max);
      if (!show) {
        ++hidden;
        continue;
      }
      flush();
      for (const std::size_t child : plane.children) {
        std::optional<std::string> words;
        if (planes.size() > 1) words = fmt::format("[{}]", plane.number);
        below.push_back({child, deeper, std::move(words)});
      }
    }
    flush();
    for (std::size_t i = below.size(); i-- > 0;) todo_.push_back(std::move(below[i]));
  }

  const JobDetail& detail_;
  const bool full_;
  std::vector<std::vector<Plane>> planes_;
  std::vector<std::size_t> roots_;
  std::vector<bool> notable_;
  std::vector<Todo> todo_;
  std::vector<TreeLine> made_;
};

}  // namespace

std::vector<TreeLine> tree_of(const JobDetail& detail, bool full) { return Tree(detail, full).lines(); }

}  // namespace pawl::cli
