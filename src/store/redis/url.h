// Url: the address of a Redis, and its user. The password is a secret: no text that is made from a Url contains it.
//
//   redis://[user[:password]@]host[:port][/database]    one server
//   redis+unix:///path/to/socket[?database=3]            one server, by a socket of this machine
//   redis-cluster://host:port[,host:port...]             a cluster, found by any of its nodes
//   redis-sentinel://host:port[,host:port...]/name[/database]   the master of that name, which these sentinels know
//   rediss://, rediss-cluster://, rediss-sentinel://     the same over TLS
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "pawl/result.h"

namespace pawl::store::redis {

struct Address {
  std::string host;  // or the path of a local socket, which begins with a slash
  std::uint16_t port = 6379;
  bool is_local() const { return !host.empty() && host.front() == '/'; }
  std::string text() const;
  friend auto operator<=>(const Address&, const Address&) = default;
};

struct Url {
  bool cluster = false;
  bool tls = false;
  std::vector<Address> nodes;
  std::string master;  // its name, if the nodes are sentinels; else empty
  std::string user;
  std::string password;  // empty: taken from the environment variable PAWL_REDIS_PASSWORD, if it is set
  std::uint32_t database = 0;

  bool has_sentinels() const { return !master.empty(); }
  bool is_one_server() const { return !cluster && !has_sentinels(); }

  static Result<Url> parse(std::string_view text);
  std::string shown() const;  // for people and logs
};

}  // namespace pawl::store::redis
