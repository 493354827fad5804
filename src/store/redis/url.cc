#include "store/redis/url.h"

#include <cstdlib>

#include "base/format.h"
#include "store/redis/text.h"

namespace pawl::store::redis {

namespace {

Error invalid(std::string why) {
  return Error{ErrorCode::invalid, format("the address of the Redis store is wrong: {}", why)};
}

struct Scheme {
  std::string_view name;
  enum class Of : std::uint8_t { server, socket, cluster, sentinels } of;
  bool tls;
};
constexpr Scheme schemes[] = {{"redis://", Scheme::Of::server, false},
                              {"rediss://", Scheme::Of::server, true},
                              {"redis-cluster://", Scheme::Of::cluster, false},
                              {"rediss-cluster://", Scheme::Of::cluster, true},
                              {"redis-sentinel://", Scheme::Of::sentinels, false},
                              {"rediss-sentinel://", Scheme::Of::sentinels, true},
                              {"redis+unix://", Scheme::Of::socket, false}};

constexpr std::uint16_t sentinel_port = 26379;

// For a user or password: "%40" is "@".
std::string decoded(std::string_view text) { return text.empty() ? std::string() : unescape(text); }

Result<Address> parse_address(std::string_view text, std::uint16_t usual_port) {
  Address address;
  address.port = usual_port;
  std::string_view port;
  if (!text.empty() && text.front() == '[') {
    const std::size_t end = text.find(']');
    if (end == std::string_view::npos) return invalid("a bracket is not closed");
    address.host = std::string(text.substr(1, end - 1));
    port = text.substr(end + 1);
  } else {
    const std::size_t colon = text.find(':');
    address.host = std::string(text.substr(0, colon));
    port = colon == std::string_view::npos ? std::string_view() : text.substr(colon);
  }
  if (address.host.empty()) return invalid("it names no host");
  if (port.empty()) return address;
  const auto number = number_in<std::uint16_t>(port.substr(1));
  if (port.front() != ':' || !number || *number == 0) return invalid("a port is a number between 1 and 65535");
  address.port = *number;
  return address;
}

Status take_user(Url& url, std::string_view& rest) {
  const std::size_t at = rest.rfind('@');
  if (at == std::string_view::npos) return {};
  const std::string_view who = rest.substr(0, at);
  const std::size_t colon = who.find(':');
  url.user = decoded(who.substr(0, colon));
  if (colon != std::string_view::npos) url.password = decoded(who.substr(colon + 1));
  rest.remove_prefix(at + 1);
  return {};
}

Status take_database(Url& url, std::string_view text) {
  const auto number = number_in<std::uint32_t>(text);
  if (!number) return invalid("a database is a number");
  url.database = *number;
  return {};
}

Status parse_local(Url& url, std::string_view rest) {
  if (const auto done = take_user(url, rest); !done) return done;
  constexpr std::string_view choice = "?database=";
  const std::size_t question = rest.find('?');
  if (question != std::string_view::npos) {
    if (rest.substr(question, choice.size()) != choice) return invalid("after a socket only ?database= may follow");
    if (const auto done = take_database(url, rest.substr(question + choice.size())); !done) return done;
  }
  Address address;
  address.host = std::string(rest.substr(0, question));
  address.port = 0;
  if (!address.is_local()) return invalid("the path of a socket begins with a slash");
  url.nodes.push_back(std::move(address));
  return {};
}

Status parse_remote(Url& url, std::string_view rest, Scheme::Of of) {
  if (const auto done = take_user(url, rest); !done) return done;
  const bool sentinels = of == Scheme::Of::sentinels;
  const std::size_t slash = rest.find('/');
  if (slash != std::string_view::npos) {
    std::string_view database = rest.substr(slash + 1);
    if (sentinels) {
      const std::size_t end = std::min(database.find('/'), database.size());
      url.master = decoded(database.substr(0, end));
      database = database.substr(std::min(end + 1, database.size()));
    }
    if (url.cluster && !database.empty()) return invalid("a cluster has no databases to choose from");
    if (!database.empty())
      if (const auto done = take_database(url, database); !done) return done;
    rest = rest.substr(0, slash);
  }
  if (sentinels && url.master.empty())
    return invalid("behind the sentinels stands a slash and the name of their master");
  for (const std::string_view node : words_of(rest, ',')) {
    auto address = parse_address(node, sentinels ? sentinel_port : Address().port);
    if (!address) return address.error();
    url.nodes.push_back(std::move(*address));
  }
  if (url.nodes.empty()) return invalid("it names no host");
  if (url.is_one_server() && url.nodes.size() > 1)
    return invalid("one server has one address; several are those of a cluster");
  return {};
}

}  // namespace

std::string Address::text() const { return is_local() ? host : format("{}:{}", host, port); }

Result<Url> Url::parse(std::string_view text) {
  for (const Scheme& scheme : schemes) {
    if (text.substr(0, scheme.name.size()) != scheme.name) continue;
    Url url;
    url.cluster = scheme.of == Scheme::Of::cluster;
    url.tls = scheme.tls;
    const std::string_view rest = text.substr(scheme.name.size());
    const Status parsed = scheme.of == Scheme::Of::socket ? parse_local(url, rest) : parse_remote(url, rest, scheme.of);
    if (!parsed) return parsed.error();
    const char* password = std::getenv("PAWL_REDIS_PASSWORD");
    if (url.password.empty() && password != nullptr) url.password = password;
    return url;
  }
  return invalid(
      "it begins with redis://, redis-cluster://, redis-sentinel://, or rediss for TLS in each of them, or "
      "redis+unix://");
}

std::string Url::shown() const {
  std::string text = cluster ? "cluster" : has_sentinels() ? format("master {} of the sentinels", master) : "redis";
  for (std::size_t i = 0; i < nodes.size(); ++i) text += (i == 0 ? " " : ",") + nodes[i].text();
  if (database != 0) text += format(", database {}", database);
  return text;
}

}  // namespace pawl::store::redis
