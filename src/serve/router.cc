#include "serve/router.h"

#include <algorithm>
#include <cstdlib>
#include <optional>

namespace pawl::serve {

namespace {

bool is_name(const std::string& part) { return part.size() > 2 && part.front() == '{' && part.back() == '}'; }

// How many parts are written out; none: the pattern does not fit.
std::optional<std::size_t> fits(const std::vector<std::string>& pattern, const std::vector<std::string>& path) {
  if (pattern.size() != path.size()) return std::nullopt;
  std::size_t same = 0;
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    if (is_name(pattern[i])) {
      if (path[i].empty()) return std::nullopt;
      continue;
    }
    if (pattern[i] != path[i]) return std::nullopt;
    ++same;
  }
  return same;
}

}  // namespace

void Router::add(Route route) {
  Request split;
  if (const auto read = read_target(route.pattern, split); !read) return;  // a pattern is a plain path
  parts_.push_back(std::move(split.parts));
  routes_.push_back(std::move(route));
}

void Router::set_effort(std::string_view method, std::string_view pattern, Effort effort) {
  const auto found = std::find_if(routes_.begin(), routes_.end(), [&](const Route& route) {
    return route.method == method && route.pattern == pattern;
  });
  if (found == routes_.end()) std::abort();  // the lists are written by hand
  found->effort = effort;
}

const Route* Router::find(Request& request, std::vector<std::string>& methods) const {
  const std::string& method = request.method == "HEAD" ? std::string("GET") : request.method;
  std::size_t best = 0;
  std::optional<std::size_t> most;
  std::optional<std::size_t> most_of_any;
  for (std::size_t i = 0; i < routes_.size(); ++i) {
    const auto same = fits(parts_[i], request.parts);
    if (!same) continue;
    // Only the methods of the path that fits best are methods of it.
    if (!most_of_any || *same > *most_of_any) {
      most_of_any = same;
      methods.clear();
      most.reset();
    }
    if (*same < *most_of_any) continue;
    methods.push_back(routes_[i].method);
    if (routes_[i].method != method) continue;
    most = same;
    best = i;
  }
  if (!most) return nullptr;
  for (std::size_t i = 0; i < request.parts.size(); ++i)
    if (const std::string& part = parts_[best][i]; is_name(part))
      request.captured.emplace_back(part.substr(1, part.size() - 2), request.parts[i]);
  return &routes_[best];
}

}  // namespace pawl::serve
