// Runtimes that share a server: PostgreSQL or Redis, each started for these tests. The others see what one process
// does, and take over what it leaves.
#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "life.h"
#include "store/postgres/server_test.h"
#include "store/redis/server_test.h"
#include "testing.h"

namespace pawl::testing {
namespace {

// A separate server for each test: some of them restart it.
struct Server {
  virtual ~Server() = default;
  virtual std::string address() const = 0;
  virtual void restart() = 0;  // as after a crash
};
struct Postgres final : Server {
  Postgres() : server(store::postgres::TestServer::start()) {}
  ~Postgres() override {
    if (server) server->remove();
  }
  std::string address() const override { return server ? server->address() : "postgres:///"; }
  void restart() override {
    ASSERT_TRUE(server->stop("immediate"));
    ASSERT_TRUE(server->run_server());
  }
  std::optional<store::postgres::TestServer> server;
};
struct Redis final : Server {
  Redis() : server(options()) {}
  static store::redis::ServerOptions options() {
    store::redis::ServerOptions wanted;
    wanted.appendfsync = "always";
    return wanted;
  }
  std::string address() const override { return server.url(); }
  void restart() override {
    server.kill();
    server.start();
  }
  store::redis::TestServer server;
};

class Servers : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    if (GetParam() == "postgres")
      server_ = std::make_unique<Postgres>();
    else
      server_ = std::make_unique<Redis>();
  }

  // A process that runs jobs and records which attempts it served.
  struct Node {
    std::unique_ptr<Runtime> runtime;
    std::atomic<int> served{0};
  };
  enum class Serves : bool { no, yes };
  std::unique_ptr<Node> node(Serves serves = Serves::yes) {
    auto made = std::make_unique<Node>();
    auto opened = pawl::open({.store = server_->address(), .lanes = 8});
    EXPECT_TRUE(opened.ok()) << to_string(opened.error());
    if (!opened) return nullptr;
    made->runtime = std::make_unique<Runtime>(std::move(*opened));
    auto graph =
        GraphBuilder("chain").trigger("t").worker("one", "add").after("t").worker("two", "add").after("one").build();
    EXPECT_TRUE(made->runtime->deploy(std::move(*graph)).ok());
    if (serves == Serves::yes) serve(*made);
    EXPECT_TRUE(made->runtime->launch().ok());
    return made;
  }
  void serve(Node& node) {
    EXPECT_TRUE(node.runtime
                    ->serve("add",
                            [this, &node](Work& work) {
                              ++node.served;
                              const std::lock_guard lock(mutex_);
                              ++runs_[work.key()];
                              return Reply::success(work.input().str() + "+");
                            })
                    .ok());
  }
  std::vector<RunId> submit(Runtime& runtime, int count, const std::string& prefix) {
    std::vector<RunId> runs;
    for (int i = 0; i < count; ++i) {
      const auto job = runtime.start("chain", Payload("x"), {.id = prefix + std::to_string(i)});
      EXPECT_TRUE(job.ok()) << to_string(job.error());
      if (job) runs.push_back(job->run());
    }
    return runs;
  }
  void expect_ends(Runtime& runtime, const std::vector<RunId>& runs) {
    for (const RunId run : runs) {
      const auto end = runtime.job(run).wait(60s);
      ASSERT_TRUE(end.ok()) << to_string(end.error());
      EXPECT_EQ(end->status, JobStatus::completed);
      EXPECT_EQ(end->result.str(), "x++");
    }
  }
  bool shares(Node& first, Node& second) {
    return comes_true([&] { return first.runtime->owns() && second.runtime->owns(); });
  }

  std::unique_ptr<Server> server_;
  std::mutex mutex_;
  std::map<std::string, int> runs_;  // attempts of each activity, by its key
};

TEST_P(Servers, a_job_outlives_the_process_that_ran_it) {
  std::vector<RunId> runs;
  {
    auto first = node(Serves::no);  // it accepts, and has no worker
    runs = submit(*first->runtime, 3, "early-");
  }
  auto second = node();
  expect_ends(*second->runtime, runs);
}

TEST_P(Servers, two_nodes_share_the_work_and_do_each_part_of_it_once) {
  auto first = node();
  auto second = node();
  ASSERT_TRUE(shares(*first, *second)) << "each has lanes";
  const auto runs = submit(*first->runtime, 100, "j-");
  expect_ends(*second->runtime, runs);
  EXPECT_GT(first->served, 0);
  EXPECT_GT(second->served, 0);
  const std::lock_guard lock(mutex_);
  EXPECT_EQ(runs_.size(), 200u);
  for (const auto& [key, times] : runs_) EXPECT_EQ(times, 1) << key;
}

TEST_P(Servers, what_a_node_leaves_another_one_takes_over) {
  auto first = node();
  auto second = node();
  ASSERT_TRUE(shares(*first, *second));
  second->runtime->stop();
  second.reset();
  const auto runs = submit(*first->runtime, 40, "left-");
  expect_ends(*first->runtime, runs);
}

TEST_P(Servers, a_server_that_crashes_and_comes_back_loses_nothing) {
  auto only = node();
  auto runs = submit(*only->runtime, 20, "before-");
  server_->restart();
  // Signals without a definite answer are sent again under the same id.
  std::vector<RunId> after;
  for (int i = 0; i < 20; ++i)
    EXPECT_TRUE(comes_true([&] {
      const auto job = only->runtime->start("chain", Payload("x"), {.id = "after-" + std::to_string(i)});
      if (job) after.push_back(job->run());
      return job.ok();
    }));
  expect_ends(*only->runtime, runs);
  expect_ends(*only->runtime, after);
}

TEST_P(Servers, a_signal_reaches_a_job_of_another_node) {
  auto first = node();
  auto second = node();
  ASSERT_TRUE(shares(*first, *second));
  const auto runs = submit(*second->runtime, 10, "s-");
  for (const RunId run : runs) static_cast<void>(first->runtime->job(run).interrupt("enough"));  // some have ended
  for (const RunId run : runs) EXPECT_TRUE(first->runtime->job(run).wait(30s).ok());
}

INSTANTIATE_TEST_SUITE_P(on, Servers, ::testing::Values("postgres", "redis"),
                         [](const auto& one) { return one.param; });

TEST(ServerAddresses, what_is_no_store_is_said) {
  EXPECT_TRUE(fails_with(pawl::open({.store = "mysql://localhost/x"}), ErrorCode::invalid,
                         {"mysql://", "postgres://", "redis://"}));
}

TEST(ServerAddresses, a_server_that_is_not_there_is_an_error_without_the_password) {
  for (const std::string address : {"postgres://pawl:secret@127.0.0.1:1/x", "redis://pawl:secret@127.0.0.1:1"}) {
    const auto opened = pawl::open({.store = address});
    ASSERT_FALSE(opened.ok());
    EXPECT_EQ(to_string(opened.error()).find("secret"), std::string::npos) << to_string(opened.error());
  }
}

}  // namespace
}  // namespace pawl::testing
