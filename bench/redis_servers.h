// Real Redis servers for redis_bench, in a new folder on the disk: one on a socket, or three masters on loopback.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "store/redis/connection.h"

namespace pawl::bench {

class RedisServer {
 public:
  enum class Kind : std::uint8_t { alone, of_a_cluster };
  RedisServer(const std::string& dir, const std::string& appendfsync, Kind kind);
  ~RedisServer();  // ends the server and removes its folder
  RedisServer(const RedisServer&) = delete;

  std::string url() const { return "redis+unix://" + socket(); }
  std::string socket() const { return (folder_ / "socket").string(); }
  std::uint16_t port() const { return port_; }
  store::redis::Reply ask(std::initializer_list<std::string_view> words) const;
  std::unique_ptr<store::redis::Connection> connect() const;
  // A line of INFO as a number; 0: there is none.
  double info(std::string_view section, std::string_view name) const;
  double commands() const;  // that ran, including those that scripts called

 private:
  bool answers() const;
  std::filesystem::path folder_;
  std::uint16_t port_ = 0;
  pid_t process_ = 0;
};

class RedisMasters {
 public:
  static constexpr std::size_t count = 3;
  RedisMasters(const std::string& dir, const std::string& appendfsync);
  std::string url() const;

 private:
  std::vector<std::unique_ptr<RedisServer>> nodes_;
};

}  // namespace pawl::bench
