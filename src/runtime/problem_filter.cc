#include "runtime/problem_filter.h"

#include <utility>

#include "base/format.h"
#include "base/limits.h"

namespace pawl::runtime {

std::vector<std::string> ProblemFilter::pass(const std::string& about, const std::string& text, Duration now) {
  std::vector<std::string> lines;
  if (now >= window_end_) {
    window_end_ = now + limits::problem_window;
    for (const auto& [key, said] : std::exchange(said_, {}))
      if (said.again > 0) lines.push_back(format("{} (came {} times more)", said.text, said.again));
    if (const auto others = std::exchange(unsaid_, 0); others > 0)
      lines.push_back(format("{} other problems were not reported", others));
  }
  if (const auto known = said_.find(about); known != said_.end()) {
    ++known->second.again;
  } else if (said_.size() >= limits::problems_per_window_max) {
    ++unsaid_;
  } else {
    said_.emplace(about, Said{text});
    lines.push_back(text);
  }
  return lines;
}

}  // namespace pawl::runtime
