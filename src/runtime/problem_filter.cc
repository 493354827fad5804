#include "runtime/problem_filter.h"

#include <utility>

#include "base/format.h"
#include "base/limits.h"

namespace pawl::runtime {

std::vector<std::string> ProblemFilter::pass(const std::string& text, Duration now) {
  std::vector<std::string> lines;
  if (now >= window_end_) {
    window_end_ = now + limits::problem_window;
    for (const auto& [earlier, again] : std::exchange(said_, {}))
      if (again > 0) lines.push_back(format("{} (came {} times more)", earlier, again));
    if (const auto others = std::exchange(unsaid_, 0); others > 0)
      lines.push_back(format("{} other problems were not reported", others));
  }
  if (const auto known = said_.find(text); known != said_.end()) {
    ++known->second;
  } else if (said_.size() >= limits::problems_per_window_max) {
    ++unsaid_;
  } else {
    said_.emplace(text, 0);
    lines.push_back(text);
  }
  return lines;
}

}  // namespace pawl::runtime
