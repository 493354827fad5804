#include "redis_servers.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <thread>

#include "jobs.h"
#include "store/redis/slot.h"

namespace pawl::bench {

namespace {

namespace redis = store::redis;

// A free port; the cluster's own port is 10,000 above it.
std::uint16_t free_port() {
  static std::uint16_t next = static_cast<std::uint16_t>(20'000 + getpid() % 20'000);
  for (;; ++next) {
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in at{};
    at.sin_family = AF_INET;
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    at.sin_port = htons(next);
    const bool bound = bind(fd, reinterpret_cast<sockaddr*>(&at), sizeof at) == 0;
    ::close(fd);
    if (bound) return next++;
  }
}

std::filesystem::path fresh_folder(const std::string& dir) {
  std::string pattern = dir + "/pawl-redis-XXXXXX";
  if (mkdtemp(pattern.data()) == nullptr) std::abort();
  return std::filesystem::absolute(pattern);
}

[[noreturn]] void give_up(const std::string& why) {
  fmt::print(stderr, "{}\n", why);
  std::exit(1);
}

}  // namespace

RedisServer::RedisServer(const std::string& dir, const std::string& appendfsync, Kind kind)
    : folder_(fresh_folder(dir)), port_(kind == Kind::alone ? std::uint16_t{0} : free_port()) {
  std::vector<std::string> words = {"redis-server",
                                    "--dir",
                                    folder_.string(),
                                    "--port",
                                    fmt::format("{}", port_),
                                    "--bind",
                                    "127.0.0.1",
                                    "--unixsocket",
                                    socket(),
                                    "--appendonly",
                                    "yes",
                                    "--appendfsync",
                                    appendfsync,
                                    "--save",
                                    "",
                                    "--auto-aof-rewrite-percentage",
                                    "0",
                                    "--logfile",
                                    (folder_ / "log").string()};
  if (kind == Kind::of_a_cluster) words.insert(words.end(), {"--cluster-enabled", "yes"});
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  const pid_t parent = getpid();
  process_ = fork();
  if (process_ == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);  // it ends with the benchmark
    if (getppid() != parent) _exit(1);
    dup2(::open("/dev/null", O_RDWR), 1);
    execvp(arguments[0], arguments.data());
    _exit(127);
  }
  for (int i = 0; i < 2000; ++i) {
    if (answers()) return;
    if (waitpid(process_, nullptr, WNOHANG) == process_) break;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  give_up(fmt::format("redis-server does not start; see {}", (folder_ / "log").string()));
}

RedisServer::~RedisServer() {
  kill(process_, SIGKILL);
  waitpid(process_, nullptr, 0);
  std::error_code ignored;
  std::filesystem::remove_all(folder_, ignored);
}

std::unique_ptr<redis::Connection> RedisServer::connect() const {
  redis::ConnectionOptions options;
  options.connect_timeout = std::chrono::seconds(3);
  options.reply_timeout = std::chrono::seconds(60);
  return must(redis::Connection::open(redis::Address{socket(), 0}, options));
}

bool RedisServer::answers() const {
  redis::ConnectionOptions options;
  options.connect_timeout = std::chrono::seconds(1);
  options.reply_timeout = std::chrono::seconds(1);
  const auto connection = redis::Connection::open(redis::Address{socket(), 0}, options);
  if (!connection) return false;
  const auto reply = (*connection)->ask_one({"PING"});
  return reply && reply->text == "PONG";
}

redis::Reply RedisServer::ask(std::initializer_list<std::string_view> words) const {
  redis::Reply reply = must(connect()->ask_one(words));
  if (reply.is_error()) give_up(reply.text);
  return reply;
}

double RedisServer::info(std::string_view section, std::string_view name) const {
  const std::string text = ask({"INFO", section}).text;
  const std::size_t at = text.find(fmt::format("\n{}:", name));
  return at == std::string::npos ? 0 : std::atof(text.c_str() + at + name.size() + 2);
}

double RedisServer::commands() const {
  const std::string text = ask({"INFO", "commandstats"}).text;
  constexpr std::string_view calls = "calls=";
  double sum = 0;
  for (std::size_t at = text.find(calls); at != std::string::npos; at = text.find(calls, at + 1)) {
    const bool rejected = text[at - 1] == '_';  // "rejected_calls="
    if (!rejected && text[at - 1] == ':') sum += std::atof(text.c_str() + at + calls.size());
  }
  return sum;
}

RedisMasters::RedisMasters(const std::string& dir, const std::string& appendfsync) {
  for (std::size_t i = 0; i < count; ++i) {
    nodes_.push_back(std::make_unique<RedisServer>(dir, appendfsync, RedisServer::Kind::of_a_cluster));
    const RedisServer& node = *nodes_.back();
    node.ask({"CLUSTER", "ADDSLOTSRANGE", fmt::format("{}", redis::slots * i / count),
              fmt::format("{}", redis::slots * (i + 1) / count - 1)});
    node.ask({"CLUSTER", "SET-CONFIG-EPOCH", fmt::format("{}", i + 1)});
    if (i > 0) node.ask({"CLUSTER", "MEET", "127.0.0.1", fmt::format("{}", nodes_.front()->port())});
  }
  for (int i = 0; i < 3000; ++i) {
    std::size_t ready = 0;
    for (const auto& node : nodes_) {
      const std::string info = node->ask({"CLUSTER", "INFO"}).text;
      if (info.find("cluster_state:ok") != std::string::npos && info.find("cluster_known_nodes:3") != std::string::npos)
        ++ready;
    }
    if (ready == count) return;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  give_up("the cluster does not come together");
}

std::string RedisMasters::url() const {
  std::string text = "redis-cluster://";
  for (const auto& node : nodes_)
    text += fmt::format("{}127.0.0.1:{}", node == nodes_.front() ? "" : ",", node->port());
  return text;
}

}  // namespace pawl::bench
