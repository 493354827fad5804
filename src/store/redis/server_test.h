// Real servers for tests, in separate folders: one Redis, or a cluster of three masters.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace pawl::store::redis {

struct ServerOptions {
  std::string appendfsync = "everysec";  // tests of durability ask for always
  std::vector<std::string> more;         // more arguments for its command line
  bool cluster = false;
  std::filesystem::path folder;  // its data; empty: a separate one, in memory where there is room
};

// A server with a local socket and a loopback port.
class TestServer {
 public:
  explicit TestServer(ServerOptions options = {});
  ~TestServer();
  TestServer(const TestServer&) = delete;

  std::string url() const;  // by the socket
  std::string url_by_port(const std::string& scheme = "redis") const;
  std::uint16_t port() const { return port_; }
  const std::filesystem::path& folder() const { return folder_; }

  void start();
  void stop();  // by SIGTERM: it writes its data
  void kill();  // like a crash
  bool runs() const { return process_ > 0; }
  // One command; the reply as redis-cli shows it.
  std::string ask(std::initializer_list<std::string_view> words) const;
  std::string ask(const std::vector<std::string>& words) const;

 private:
  void try_start();

  ServerOptions options_;
  std::filesystem::path folder_;
  std::uint16_t port_ = 0;
  pid_t process_ = 0;
};

class TestCluster {
 public:
  explicit TestCluster(const std::string& appendfsync = "everysec");
  // Adds a replica; returns when it has all data of its master.
  TestServer& add_replica(std::size_t of);
  // From now on the replica receives nothing from its master.
  void cut_off(TestServer& replica, std::size_t master);
  std::string url() const;
  TestServer& node(std::size_t i) { return *nodes_[i]; }
  std::size_t size() const { return nodes_.size(); }
  // Moves a slot to another node, key by key, as resharding does. `between` is called during the move.
  void move_slot(std::uint16_t slot, std::size_t to, const std::function<void()>& between = {});
  std::size_t owner_of(std::uint16_t slot) const;

 private:
  std::vector<std::unique_ptr<TestServer>> nodes_;
  std::vector<std::unique_ptr<TestServer>> replicas_;
};

// A port that is free now. Another process may take it before it is used.
std::uint16_t free_port();

// The server that the tests of this program share; each store has a different prefix there.
TestServer& shared_server();
TestCluster& shared_cluster();
std::string fresh_prefix();

}  // namespace pawl::store::redis
