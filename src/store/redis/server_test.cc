#include "store/redis/server_test.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <thread>

#include "base/format.h"
#include "store/redis/connection.h"
#include "store/redis/slot.h"

namespace pawl::store::redis {

namespace {

bool is_free(int port) {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in at{};
  at.sin_family = AF_INET;
  at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  at.sin_port = htons(static_cast<std::uint16_t>(port));
  const bool bound = bind(fd, reinterpret_cast<const sockaddr*>(&at), sizeof at) == 0;
  ::close(fd);
  return bound;
}

}  // namespace

// Below the ports that the system assigns to connections; the port of a cluster's bus, 10,000 above it, is below them
// too.
std::uint16_t free_port() {
  constexpr unsigned first = 10'000, count = 12'000, bus = 10'000;
  static std::atomic<unsigned> next{static_cast<unsigned>(getpid()) * 97};
  for (unsigned i = 0; i < count; ++i) {
    const int port = static_cast<int>(first + next++ % count);
    if (is_free(port) && is_free(port + static_cast<int>(bus))) return static_cast<std::uint16_t>(port);
  }
  std::abort();
}

namespace {

// A folder where a sync costs nothing, if there is one: the disk is not under test here.
std::filesystem::path memory_folder() {
  std::string pattern = std::filesystem::exists("/dev/shm") ? "/dev/shm/pawl-redis-XXXXXX" : "/tmp/pawl-redis-XXXXXX";
  if (mkdtemp(pattern.data()) == nullptr) std::abort();
  return pattern;
}

std::string shown(const Reply& reply) {
  switch (reply.kind) {
    case Reply::Kind::nil:
      return "(nil)";
    case Reply::Kind::integer:
      return format("{}", reply.integer);
    case Reply::Kind::list:
      break;
    default:
      return reply.text;
  }
  std::string text;
  for (const Reply& one : reply.list) text += shown(one) + "\n";
  return text;
}

}  // namespace

// Another process may take a port between the check and its use: then another port is tried.
TestServer::TestServer(ServerOptions options) : options_(std::move(options)), folder_(options_.folder) {
  if (folder_.empty()) folder_ = memory_folder();
  for (int i = 0; i < 5 && !runs(); ++i) {
    port_ = free_port();
    try_start();
  }
  if (!runs()) ADD_FAILURE() << "redis-server does not start; see " << folder_ / "log";
}

TestServer::~TestServer() {
  kill();
  std::error_code ignored;
  if (options_.folder.empty()) std::filesystem::remove_all(folder_, ignored);
}

std::string TestServer::url() const { return "redis+unix://" + (folder_ / "socket").string(); }
std::string TestServer::url_by_port(const std::string& scheme) const {
  return format("{}://127.0.0.1:{}", scheme, port_);
}

void TestServer::start() {
  for (int i = 0; i < 5 && !runs(); ++i) try_start();
  if (!runs()) ADD_FAILURE() << "redis-server does not start; see " << folder_ / "log";
}

void TestServer::try_start() {
  std::vector<std::string> words = {"redis-server",
                                    "--dir",
                                    folder_.string(),
                                    "--port",
                                    format("{}", port_),
                                    "--bind",
                                    "127.0.0.1",
                                    "--unixsocket",
                                    (folder_ / "socket").string(),
                                    "--appendonly",
                                    "yes",
                                    "--appendfsync",
                                    options_.appendfsync,
                                    "--save",
                                    "",
                                    "--databases",
                                    "1",
                                    "--logfile",
                                    (folder_ / "log").string(),
                                    "--enable-debug-command",
                                    "yes"};
  if (options_.cluster)
    for (const char* word :
         {"--cluster-enabled", "yes", "--cluster-config-file", "nodes.conf", "--cluster-node-timeout", "2000"})
      words.emplace_back(word);
  words.insert(words.end(), options_.more.begin(), options_.more.end());
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  const pid_t parent = getpid();
  process_ = fork();
  if (process_ == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);  // it does not outlive its test
    if (getppid() != parent) _exit(1);
    const int nowhere = ::open("/dev/null", O_RDWR);
    dup2(nowhere, 0);
    dup2(nowhere, 1);
    execvp(arguments[0], arguments.data());
    _exit(127);
  }
  for (int i = 0; i < 2000; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    if (ask({"PING"}) == "PONG") return;
    if (waitpid(process_, nullptr, WNOHANG) == process_) {
      process_ = 0;
      return;
    }
  }
  kill();
}

void TestServer::stop() {
  if (process_ <= 0) return;
  ::kill(process_, SIGTERM);
  waitpid(process_, nullptr, 0);
  process_ = 0;
}
void TestServer::kill() {
  if (process_ <= 0) return;
  ::kill(process_, SIGKILL);
  waitpid(process_, nullptr, 0);
  process_ = 0;
}

std::string TestServer::ask(std::initializer_list<std::string_view> words) const {
  return ask(std::vector<std::string>(words.begin(), words.end()));
}
std::string TestServer::ask(const std::vector<std::string>& words) const {
  ConnectionOptions options;
  options.connect_timeout = std::chrono::seconds(1);
  options.reply_timeout = std::chrono::seconds(10);
  const auto connection = Connection::open(Address{(folder_ / "socket").string(), 0}, options);
  if (!connection) return to_string(connection.error());
  Commands commands;
  commands.add(words);
  const auto replies = (*connection)->ask(commands);
  return replies ? shown(replies->front()) : to_string(replies.error());
}

// --- a cluster

TestCluster::TestCluster(const std::string& appendfsync) {
  constexpr std::size_t masters = 3;
  for (std::size_t i = 0; i < masters; ++i) {
    ServerOptions options;
    options.cluster = true;
    options.appendfsync = appendfsync;
    nodes_.push_back(std::make_unique<TestServer>(std::move(options)));
  }
  for (std::size_t i = 0; i < masters; ++i) {
    const std::size_t first = slots * i / masters;
    const std::size_t last = slots * (i + 1) / masters - 1;
    node(i).ask({"CLUSTER", "ADDSLOTSRANGE", format("{}", first), format("{}", last)});
    node(i).ask({"CLUSTER", "SET-CONFIG-EPOCH", format("{}", i + 1)});
    if (i > 0) node(i).ask({"CLUSTER", "MEET", "127.0.0.1", format("{}", node(0).port())});
  }
  for (int i = 0; i < 2000; ++i) {
    bool ready = true;
    for (const auto& one : nodes_) {
      const std::string info = one->ask({"CLUSTER", "INFO"});
      ready = ready && info.find("cluster_state:ok") != std::string::npos &&
              info.find("cluster_known_nodes:3") != std::string::npos;
    }
    if (ready) return;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  ADD_FAILURE() << "the cluster does not come together";
}

TestServer& TestCluster::add_replica(std::size_t of) {
  ServerOptions options;
  options.cluster = true;
  options.appendfsync = "always";
  options.more = {"--repl-diskless-sync-delay", "0"};
  replicas_.push_back(std::make_unique<TestServer>(std::move(options)));
  TestServer& replica = *replicas_.back();
  node(of).ask({"CONFIG", "SET", "repl-diskless-sync-delay", "0"});
  const std::string id = node(of).ask({"CLUSTER", "MYID"});
  replica.ask({"CLUSTER", "MEET", "127.0.0.1", format("{}", node(0).port())});
  for (int i = 0; i < 3000; ++i) {
    if (replica.ask({"CLUSTER", "REPLICATE", id}) == "OK") break;  // once it knows that node
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  const std::string mine = replica.ask({"CLUSTER", "MYID"});
  const auto knows = [&](const std::unique_ptr<TestServer>& one) {
    const std::string nodes = one->ask({"CLUSTER", "NODES"});
    const std::size_t at = nodes.find(mine);
    return at != std::string::npos && nodes.substr(at, nodes.find('\n', at) - at).find("slave") != std::string::npos;
  };
  for (int i = 0; i < 3000; ++i) {
    const bool hears = replica.ask({"INFO", "replication"}).find("master_link_status:up") != std::string::npos;
    if (hears && std::all_of(nodes_.begin(), nodes_.end(), knows)) return replica;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  ADD_FAILURE() << "the replica does not hear its master";
  return replica;
}

void TestCluster::cut_off(TestServer& replica, std::size_t master) {
  replica.ask({"CONFIG", "SET", "masterauth", "wrong"});  // the master has no password, and refuses it
  node(master).ask({"CLIENT", "KILL", "TYPE", "replica"});
}

std::string TestCluster::url() const {
  std::string text = "redis-cluster://";
  for (std::size_t i = 0; i < nodes_.size(); ++i)
    text += format("{}127.0.0.1:{}", i == 0 ? "" : ",", nodes_[i]->port());
  return text;
}

std::size_t TestCluster::owner_of(std::uint16_t slot) const {
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    // A node that does not have the slot of a key reports it.
    const std::string answer = nodes_[i]->ask({"CLUSTER", "COUNTKEYSINSLOT", format("{}", slot)});
    const std::string mine = nodes_[i]->ask({"CLUSTER", "MYID"});
    const std::string lines = nodes_[i]->ask({"CLUSTER", "NODES"});
    for (std::size_t at = 0; at < lines.size();) {
      const std::size_t end = lines.find('\n', at);
      const std::string line = lines.substr(at, end - at);
      at = end == std::string::npos ? lines.size() : end + 1;
      if (line.find(mine) != 0) continue;
      std::size_t word = 0;
      for (std::size_t from = 0; from < line.size();) {
        const std::size_t to = std::min(line.find(' ', from), line.size());
        const std::string range = line.substr(from, to - from);
        from = to + 1;
        if (word++ < 8 || range.empty() || range.front() == '[') continue;
        const std::size_t dash = range.find('-');
        const int first = std::stoi(range.substr(0, dash));
        const int last = dash == std::string::npos ? first : std::stoi(range.substr(dash + 1));
        if (slot >= first && slot <= last) return i;
      }
    }
  }
  return 0;
}

void TestCluster::move_slot(std::uint16_t slot, std::size_t to, const std::function<void()>& between) {
  const std::size_t from = owner_of(slot);
  if (from == to) return;
  const std::string number = format("{}", slot);
  const std::string source = node(from).ask({"CLUSTER", "MYID"});
  const std::string target = node(to).ask({"CLUSTER", "MYID"});
  node(to).ask({"CLUSTER", "SETSLOT", number, "IMPORTING", source});
  node(from).ask({"CLUSTER", "SETSLOT", number, "MIGRATING", target});
  if (between) between();
  bool halfway = false;
  for (;;) {
    const std::string names = node(from).ask({"CLUSTER", "GETKEYSINSLOT", number, "10"});
    if (names.empty()) break;
    for (std::size_t at = 0; at < names.size();) {
      const std::size_t end = names.find('\n', at);
      const std::string key = names.substr(at, end - at);
      at = end == std::string::npos ? names.size() : end + 1;
      if (key.empty()) continue;
      node(from).ask({"MIGRATE", "127.0.0.1", format("{}", node(to).port()), key, "0", "5000"});
      if (between && !std::exchange(halfway, true)) between();  // some keys are here and some there
    }
  }
  for (const auto& one : nodes_) one->ask({"CLUSTER", "SETSLOT", number, "NODE", target});
}

TestServer& shared_server() {
  static TestServer server;
  return server;
}
TestCluster& shared_cluster() {
  static TestCluster cluster;
  return cluster;
}
std::string fresh_prefix() {
  static std::atomic<int> next{0};
  return format("t{}", ++next);
}

}  // namespace pawl::store::redis
