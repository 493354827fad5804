#include "serve/access.h"

#include <algorithm>

#include "base/format.h"
#include "base/utf8.h"
#include "serve/problem.h"

namespace pawl::serve {

namespace {

constexpr std::string_view bearer = "Bearer ";

// The name of a host, without its port.
std::string_view name_in(std::string_view host) {
  if (host.starts_with('[')) return host.substr(1, host.find(']') == std::string_view::npos ? 0 : host.find(']') - 1);
  return host.substr(0, host.rfind(':'));
}

bool is_ours(const AccessRules& rules, std::string_view host) {
  const std::string_view name = name_in(host);
  return rules.any_host || is_loopback(name) ||
         std::find(rules.extra_hosts.begin(), rules.extra_hosts.end(), name) != rules.extra_hosts.end();
}

}  // namespace

bool same_secret(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) return false;
  unsigned differs = 0;
  for (std::size_t i = 0; i < a.size(); ++i)
    differs |= static_cast<unsigned>(static_cast<unsigned char>(a[i])) ^ static_cast<unsigned char>(b[i]);
  // The compiler must not see that it could stop early.
  volatile unsigned seen = differs;
  return seen == 0;
}

bool is_loopback(std::string_view host) {
  return host == "localhost" || host == "::1" ||
         (host.starts_with("127.") && host.find_first_not_of("0123456789.") == std::string_view::npos);
}

std::optional<Response> refusal(const AccessRules& rules, const Request& request, bool open) {
  // A page of another site can make a browser on this machine send requests here: by its own name (Origin), or by a
  // name that it lets point here (Host).
  const std::string* host = request.header("host");
  if (host != nullptr && !is_ours(rules, *host))
    return problem("forbidden_origin", format("this server is not {}; its names are those of loopback and --allow-host",
                                              kept_text(*host, 100)));
  if (const std::string* origin = request.header("origin"); origin != nullptr) {
    const std::size_t scheme = origin->find("://");
    const std::string_view from = scheme == std::string::npos ? *origin : std::string_view(*origin).substr(scheme + 3);
    if (host == nullptr || from != *host)
      return problem("forbidden_origin", format("a page of {} asked", kept_text(*origin, 100)));
  }
  if (open || rules.token.empty()) return std::nullopt;
  const std::string* sent = request.header("authorization");
  const bool right = sent != nullptr && sent->starts_with(bearer) &&
                     same_secret(std::string_view(*sent).substr(bearer.size()), rules.token);
  if (right) return std::nullopt;
  Response response = problem("unauthorized", sent == nullptr ? "no token was sent: Authorization: Bearer TOKEN"
                                                              : "the token that was sent is not this server's");
  response.headers.emplace_back("WWW-Authenticate", "Bearer");
  return response;
}

std::string too_open(const Exposure& exposure) {
  if (is_loopback(exposure.address)) return {};
  if (!exposure.token && !exposure.accept_no_token)
    return format(
        "{} is reachable from other machines, and whoever reaches it may do anything: set a token (PAWL_TOKEN or "
        "--token-file), or say --accept-no-token",
        exposure.address);
  if (!exposure.tls && !exposure.accept_no_tls)
    return format(
        "{} is reachable from other machines, and the token would travel in clear text: give --tls-cert and --tls-key, "
        "or say --accept-no-tls if something in front of it does that",
        exposure.address);
  return {};
}

}  // namespace pawl::serve
