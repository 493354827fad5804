// Api: from a request to its handler. Checks who asks, finds the route, counts and logs.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <string>

#include "serve/access.h"
#include "serve/exchange.h"
#include "serve/router.h"
#include "serve/site.h"

namespace pawl::serve {

class Api {
 public:
  Api(Site& site, AccessRules rules);

  // What a request is refused with by its header alone; none: it may pass. handle() asks it, too.
  std::optional<Response> check(Request& head);
  // Never waits: handlers run on the site's crew.
  void handle(Request request, const ExchangePointer& exchange);
  const Router& router() const { return router_; }
  std::string next_id();  // of a request

 private:
  std::optional<Response> refusal_of(Request& request, const Route*& route) const;

  Site& site_;
  const AccessRules rules_;
  const Router router_;
  std::atomic<std::uint64_t> count_{0};
};

}  // namespace pawl::serve
