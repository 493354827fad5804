// Access: who may ask. A bearer token, compared in constant time; and, for browsers, no page of another site.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "serve/request.h"

namespace pawl::serve {

struct AccessRules {
  std::string token;                     // empty: none is wanted
  std::vector<std::string> extra_hosts;  // names of this server beside the address it listens on
  bool any_host = false;                 // it listens where names cannot be foreseen, and wants a token
};

// Takes the same time whatever differs, but for the length.
bool same_secret(std::string_view a, std::string_view b);

// None: it may pass. `open`: the route is served without a token.
std::optional<Response> refusal(const AccessRules& rules, const Request& request, bool open);

// Whether an address is one of this machine alone: 127.0.0.0/8, ::1, localhost.
bool is_loopback(std::string_view host);

// What keeps a server from being started so; empty: nothing.
struct Exposure {
  std::string address;
  bool token = false;
  bool tls = false;
  bool accept_no_token = false;
  bool accept_no_tls = false;
};
std::string too_open(const Exposure& exposure);

}  // namespace pawl::serve
