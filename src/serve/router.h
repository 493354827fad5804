// Router: which handler serves a path. A pattern is a path whose parts may be {names}; one that is written out goes
// first.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "serve/exchange.h"

namespace pawl::serve {

// Where a handler runs. quick: at once, on a thread of the HTTP server; slow: it may take long, and only half of the
// crew serves such ones.
enum class Effort : std::uint8_t { quick, normal, slow };

struct Route {
  std::string method;
  std::string pattern;
  Handler handler;
  bool open = false;  // served without a token
  Effort effort = Effort::normal;
};

class Router {
 public:
  void add(Route route);
  void set_effort(std::string_view method, std::string_view pattern, Effort effort);  // REQUIRES: there is such a route

  // Sets what the {names} stand for. Null: there is none; `methods` are those that the path has.
  const Route* find(Request& request, std::vector<std::string>& methods) const;
  const std::vector<Route>& routes() const { return routes_; }

 private:
  std::vector<Route> routes_;
  std::vector<std::vector<std::string>> parts_;  // of each pattern
};

}  // namespace pawl::serve
