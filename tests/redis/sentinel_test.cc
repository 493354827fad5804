// A master that sentinels watch, and its successor.
#include <sys/prctl.h>
#include <sys/wait.h>

#include <fcntl.h>
#include <signal.h>

#include <optional>

#include "redis/runtimes.h"
#include "store/redis/connection.h"
#include "store/redis/server_test.h"

namespace pawl::testing {
namespace {

using store::redis::Connection;
using store::redis::ServerOptions;
using store::redis::TestServer;

// redis-server --sentinel with its own file; one is enough to decide.
class Sentinel {
 public:
  Sentinel(const TestServer& master, std::uint16_t port) : port_(port) {
    write_file(folder_ / "conf",
               "port " + std::to_string(port) + "\nbind 127.0.0.1\ndir " + folder_.path() + "\nlogfile " +
                   (folder_ / "log") + "\nsentinel monitor jobs 127.0.0.1 " + std::to_string(master.port()) +
                   " 1\nsentinel down-after-milliseconds jobs 500\nsentinel failover-timeout jobs 5000\n");
    const pid_t parent = getpid();
    process_ = fork();
    if (process_ == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      if (getppid() != parent) _exit(1);
      const int nowhere = ::open("/dev/null", O_RDWR);
      dup2(nowhere, 0);
      dup2(nowhere, 1);
      const std::string conf = folder_ / "conf";
      execlp("redis-server", "redis-server", conf.c_str(), "--sentinel", nullptr);
      _exit(127);
    }
  }
  ~Sentinel() {
    ::kill(process_, SIGKILL);
    waitpid(process_, nullptr, 0);
  }
  std::string url(const std::string& name = "jobs") const {
    return "redis-sentinel://127.0.0.1:1,127.0.0.1:" + std::to_string(port_) + "/" +
           name;  // the first one is never there
  }
  // One command; the whole answer as text.
  std::string ask(std::initializer_list<std::string_view> words) const {
    store::redis::ConnectionOptions options;
    options.connect_timeout = options.reply_timeout = 5s;
    const auto connection = Connection::open({"127.0.0.1", port_}, options);
    if (!connection) return {};
    const auto reply = (*connection)->ask_one(words);
    if (!reply) return {};
    std::string text = reply->text;
    for (const auto& one : reply->list) {
      text += one.text + " ";
      for (const auto& part : one.list) text += part.text + " ";
    }
    return text;
  }

 private:
  TempDir folder_;
  const std::uint16_t port_;
  pid_t process_ = 0;
};

class RedisSentinel : public ::testing::Test {
 protected:
  static ServerOptions always() {
    ServerOptions options;
    options.appendfsync = "always";
    options.more = {"--repl-diskless-sync-delay", "0"};
    return options;
  }
  void SetUp() override {
    replica_.ask({"REPLICAOF", "127.0.0.1", std::to_string(master_.port())});
    ASSERT_TRUE(comes_true(
        [&] {
          return replica_.ask({"INFO", "replication"}).find("master_link_status:up") != std::string::npos;
        },
        30s));
    sentinel_.emplace(master_, store::redis::free_port());
    ASSERT_TRUE(comes_true(
        [&] {
          return sentinel_->ask({"SENTINEL", "REPLICAS", "jobs"}).find(std::to_string(replica_.port())) !=
                 std::string::npos;
        },
        60s))
        << "the sentinel knows both";
  }
  bool is_caught_up() {
    const auto offset = [](const std::string& info, const std::string& name) {
      const auto at = info.find(name);
      return at == std::string::npos ? std::string()
                                     : info.substr(at + name.size(), info.find('\r', at) - at - name.size());
    };
    return comes_true([&] {
      const std::string mine = offset(master_.ask({"INFO", "replication"}), "master_repl_offset:");
      return !mine.empty() && mine == offset(replica_.ask({"INFO", "replication"}), "slave_repl_offset:");
    });
  }
  bool is_promoted() {
    return comes_true(
        [&] {
          return replica_.ask({"INFO", "replication"}).find("role:master") != std::string::npos;
        },
        60s);
  }

  TestServer master_{always()};
  TestServer replica_{always()};
  std::optional<Sentinel> sentinel_;
};

TEST_F(RedisSentinel, the_master_is_found_and_its_successor_followed) {
  ServedRuntime runtime(sentinel_->url(), 2);
  ASSERT_TRUE(runtime);
  std::vector<RunId> runs;
  for (int i = 0; i < 10; ++i) runs.push_back(runtime.submit("before-" + std::to_string(i)));
  runtime.expect_ends(runs);
  ASSERT_TRUE(is_caught_up());
  master_.kill();
  ASSERT_TRUE(is_promoted());
  runtime.expect_ends({runtime.submit("after"), runtime.submit("plain", Collation::duplex)});
  runtime.expect_ends(runs);
  const auto unknown = pawl::open({.store = sentinel_->url("other")});
  EXPECT_TRUE(fails_with(unknown, ErrorCode::retry_later, {"other", "knows no such master"}));
}

// The replica did not receive the last commits of one lane: that lane stops, and reports why; the other one continues.
TEST_F(RedisSentinel, a_successor_that_was_behind_is_noticed_lane_by_lane) {
  ServedRuntime runtime(sentinel_->url(), 2);
  ASSERT_TRUE(runtime);
  std::vector<RunId> runs;
  for (int i = 0; i < 8; ++i) runs.push_back(runtime.submit("before-" + std::to_string(i)));
  runtime.expect_ends(runs);
  ASSERT_TRUE(is_caught_up());
  // The replica's lane 1 is set back by what it would have missed.
  const std::string now = replica_.ask({"HGET", "pawl:{1}:lane", "commits"});
  master_.kill();
  ASSERT_TRUE(is_promoted());
  replica_.ask({"HSET", "pawl:{1}:lane", "commits", std::to_string(std::stoll(now) / 2)});
  EXPECT_TRUE(comes_true([&] { return runtime.reported("lane 1: the server has an older state"); }, 60s))
      << runtime.problems();
  // What is read of it is not trusted; the other lane is read and works.
  EXPECT_TRUE(runtime.stopped_only(runs, {1})) << runtime.problems();
  std::vector<RunId> taken;
  for (int i = 0; i < 20; ++i) {
    const auto job = runtime->start("chain", Payload("x"), {.id = "after-" + std::to_string(i)});
    if (job)
      taken.push_back(job->run());
    else
      EXPECT_NE(to_string(job.error()).find("lane 1: the server has an older state"), std::string::npos)
          << to_string(job.error());
  }
  EXPECT_GT(taken.size(), 0u) << runtime.problems();
  runtime.expect_ends(taken);
  EXPECT_FALSE(runtime.reported("lane 2: the server has an older state")) << runtime.problems();
}

}  // namespace
}  // namespace pawl::testing
