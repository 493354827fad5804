// Request and Response: one exchange of HTTP, without sockets.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "pawl/result.h"

namespace pawl::serve {

using Pairs = std::vector<std::pair<std::string, std::string>>;

struct Request {
  std::string id;  // for the log, and for whoever reports a problem
  std::string method;
  std::string path;                // as it was sent, without the query
  std::vector<std::string> parts;  // of the path, decoded
  Pairs query;                     // decoded, in order
  Pairs headers;                   // names in lower case
  Pairs captured;                  // what stands in the path for {names} of the route
  std::string body;

  const std::string* header(std::string_view name) const;
  std::optional<std::string> asked(std::string_view name) const;    // the first of the query
  std::vector<std::string> asked_all(std::string_view name) const;  // all of them, lists with commas split
  const std::string& captured_as(std::string_view name) const;      // REQUIRES: the route has it
};

struct Response {
  int status = 200;
  std::string type = "application/json";
  std::string body;
  Pairs headers{};
};

// Path and query of a request's target. An error: it is no such text.
Status read_target(std::string_view target, Request& request);
// %2F and the like; with `plus` a + is a space, as in queries.
Result<std::string> percent_decoded(std::string_view text, bool plus);
std::string percent_encoded(std::string_view text);

}  // namespace pawl::serve
