// pawl::connect: a program that asks a server sees what it would see of a store of its own.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>

#include "base/format.h"
#include "pawl/pawl.h"
#include "serve/server.h"
#include "serve/test_site.h"

namespace pawl::serve {
namespace {

using namespace testing;

class RemoteTest : public ::testing::Test {
 protected:
  RemoteTest() {
    ServerOptions options;
    options.runtime.store = ":memory:";
    options.http.port = 0;
    options.access.token = "a token of the test";
    auto started = Server::start(options, log_, [](runtime::LocalRuntime& runtime) {
      const auto deployed = runtime.deploy(AppText{greet_app}, {});
      return deployed ? Status() : Status(deployed.error());
    });
    EXPECT_TRUE(started);
    server_ = std::move(*started);
  }
  Runtime connected(Duration lease = 30s) {
    auto runtime = connect({.url = server_->url(), .token = "a token of the test", .worker = "test", .lease = lease});
    EXPECT_TRUE(runtime) << (runtime ? "" : runtime.error().detail);
    return std::move(*runtime);
  }

  Log log_{Log::Form::text, Log::Level::error, [](const std::string&) {}};
  std::unique_ptr<Server> server_;
};

TEST_F(RemoteTest, jobs_workers_and_results_are_as_in_an_embedded_runtime) {
  Runtime runtime = connected();
  runtime.on_problem([](const std::string&) {}).keep();
  ASSERT_TRUE(runtime.serve("greet", [](Work& work) {
    EXPECT_EQ(work.attempt(), 1u);
    EXPECT_FALSE(work.key().empty());
    return Payload(R"({"text":"hello from afar"})");
  }));
  ASSERT_TRUE(runtime.launch());
  const auto job = runtime.start("hello.said", Payload(R"({"name":"Ann"})"), {.id = "r-1"});
  ASSERT_TRUE(job) << job.error().detail;
  EXPECT_TRUE(job->created());
  const auto end = job->wait(10s);
  ASSERT_TRUE(end) << end.error().detail;
  EXPECT_EQ(end->status, JobStatus::completed);
  EXPECT_EQ(end->data.view(), R"({"greeting":"hello from afar"})");
  const auto found = runtime.find("r-1");
  ASSERT_TRUE(found && *found);
  EXPECT_EQ((*found)->run(), job->run());
  EXPECT_FALSE(*runtime.find("r-2"));
  const auto detail = job->inspect();
  ASSERT_TRUE(detail);
  EXPECT_EQ(detail->activities.size(), 2u);
  EXPECT_EQ(detail->activities[1].status, ActivityStatus::completed);
  ASSERT_TRUE(job->remove());
  EXPECT_EQ(job->view().error().code, ErrorCode::not_found);
}

TEST_F(RemoteTest, many_jobs_signals_and_observers) {
  Runtime runtime = connected();
  std::mutex mutex;
  std::condition_variable changed;
  int closed = 0;
  const Subscription events = runtime.observe([&](const Event& event) {
    const std::lock_guard lock(mutex);
    if (event.kind == Event::Kind::job_closed && event.graph.raw() == "hello/hello.asked") ++closed;
    changed.notify_all();
  });
  std::this_thread::sleep_for(200ms);  // until the stream is there
  std::vector<StartItem<Payload>> items;
  for (int i = 0; i < 20; ++i) items.push_back({Payload("{}"), {.id = "q" + std::to_string(i)}});
  const auto jobs = runtime.start_many("hello.asked", items);
  for (const auto& job : jobs) ASSERT_TRUE(job);
  for (int i = 0; i < 20; ++i)
    ASSERT_TRUE(jobs[static_cast<std::size_t>(i)]->signal("hello.sure", Payload(R"({"sure":true})")));
  for (const auto& job : jobs) {
    const auto end = job->wait(10s);
    ASSERT_TRUE(end);
    EXPECT_EQ(end->status, JobStatus::completed);
  }
  std::unique_lock lock(mutex);
  EXPECT_TRUE(changed.wait_for(lock, 10s, [&] { return closed == 20; })) << closed;
  lock.unlock();
  const auto page = runtime.list({.status = JobStatus::completed, .rows_max = 7});
  ASSERT_TRUE(page);
  EXPECT_EQ(page->size(), 7u);
}

TEST_F(RemoteTest, a_worker_that_fails_is_tried_again_and_a_slow_one_keeps_its_lease) {
  Runtime runtime = connected(1s);
  runtime.on_problem([](const std::string&) {}).keep();
  std::atomic<int> calls{0};
  ASSERT_TRUE(runtime.serve("greet", [&](Work& work) {
    if (++calls == 1) throw Failure{.code = 503, .message = "not yet"};
    work.heartbeat(Payload("1"));
    std::this_thread::sleep_for(2500ms);  // more than two leases
    return Payload(R"({"text":"slow"})");
  }));
  ASSERT_TRUE(runtime.launch());
  const auto job = runtime.start("hello.said", Payload("{}"), {.id = "slow"});
  const auto end = job->wait(20s);
  ASSERT_TRUE(end);
  EXPECT_EQ(end->status, JobStatus::completed);
  EXPECT_EQ(calls, 2);
}

TEST_F(RemoteTest, stop_lets_running_work_finish_and_gives_the_rest_back) {
  std::atomic<int> begun{0};
  {
    Runtime runtime = connected();
    ASSERT_TRUE(runtime.serve("greet", [&](Work&) {
      ++begun;
      std::this_thread::sleep_for(300ms);
      return Payload(R"({"text":"x"})");
    }));
    ASSERT_TRUE(runtime.launch());
    for (int i = 0; i < 12; ++i)
      ASSERT_TRUE(runtime.start("hello.said", Payload("{}"), {.id = "s" + std::to_string(i)}));
    for (int i = 0; i < 500 && begun < 4; ++i) std::this_thread::sleep_for(10ms);
    runtime.stop(5s);
  }
  const int before = begun;
  Runtime other = connected();
  ASSERT_TRUE(other.serve("greet", [&](Work&) {
    ++begun;
    return Payload(R"({"text":"y"})");
  }));
  ASSERT_TRUE(other.launch());
  // None of them waits for the lease of a worker that is gone: 30 s.
  for (int i = 0; i < 12; ++i) EXPECT_TRUE((*other.find("s" + std::to_string(i)))->wait(10s)) << i;
  EXPECT_LT(before, 12);
  EXPECT_EQ(begun, 12);
}

// Whatever is on its way to a worker that stops is for another one at once: nothing waits for its lease of 30 s.
TEST_F(RemoteTest, a_stop_under_load_leaves_nothing_leased) {
  const auto worker = [this](std::uint32_t queue, auto work) {
    auto runtime = connect({.url = server_->url(),
                            .token = "a token of the test",
                            .worker = "test",
                            .worker_threads = 2,
                            .worker_queue = queue});
    EXPECT_TRUE(runtime);
    runtime->on_problem([](const std::string&) {}).keep();
    EXPECT_TRUE(runtime->serve("greet", work));
    EXPECT_TRUE(runtime->launch());
    return std::move(*runtime);
  };
  Runtime caller = connected();
  for (int round = 0; round < 5; ++round) {
    std::vector<StartItem<Payload>> items;
    for (int i = 0; i < 200; ++i) items.push_back({Payload("{}"), {.id = format("{}-{}", round, i)}});
    std::atomic<int> begun{0};
    std::vector<Result<Job<Payload>>> jobs;
    {
      Runtime first = worker(round % 2 == 0 ? 64 : 0, [&](Work&) {
        ++begun;
        return Payload(R"({"text":"x"})");
      });
      jobs = caller.start_many("hello.said", items);
      while (begun < 10 * round) std::this_thread::yield();  // at another moment each time
      first.stop(1s);
    }
    Runtime second = worker(256, [](Work&) { return Payload(R"({"text":"y"})"); });
    const auto begin = std::chrono::steady_clock::now();
    for (const auto& job : jobs) {
      ASSERT_TRUE(job);
      const auto end = job->wait(20s);
      ASSERT_TRUE(end) << job->id() << " in round " << round;
      EXPECT_EQ(end->status, JobStatus::completed);
    }
    EXPECT_LT(std::chrono::steady_clock::now() - begin, 5s) << "round " << round;
  }
}

TEST_F(RemoteTest, a_topic_that_is_served_later_is_taken_with_the_others) {
  Runtime runtime = connected();
  runtime.on_problem([](const std::string&) {}).keep();
  ASSERT_TRUE(runtime.serve("another", [](Work&) { return Payload("{}"); }));
  ASSERT_TRUE(runtime.launch());
  std::this_thread::sleep_for(50ms);  // its stream is open
  const auto job = runtime.start("hello.said", Payload("{}"), {.id = "later"});
  ASSERT_TRUE(job);
  ASSERT_TRUE(runtime.serve("greet", [](Work&) { return Payload(R"({"text":"x"})"); }));
  const auto end = job->wait(10s);
  ASSERT_TRUE(end);
  EXPECT_EQ(end->status, JobStatus::completed);
}

TEST_F(RemoteTest, jobs_that_were_started_together_are_waited_for_in_any_order) {
  Runtime runtime = connected();
  runtime.on_problem([](const std::string&) {}).keep();
  ASSERT_TRUE(runtime.serve("greet", [](Work&) { return Payload(R"({"text":"x"})"); }));
  ASSERT_TRUE(runtime.launch());
  std::vector<StartItem<Payload>> items;
  for (int i = 0; i < 150; ++i) items.push_back({Payload("{}"), {.id = "t" + std::to_string(i)}});
  const auto jobs = runtime.start_many("hello.said", items);
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    const auto& job = jobs[i % 2 == 0 ? i / 2 : jobs.size() - 1 - i / 2];
    ASSERT_TRUE(job);
    const auto end = job->wait(10s);
    ASSERT_TRUE(end);
    EXPECT_EQ(end->run, job->run());
    EXPECT_EQ(end->status, JobStatus::completed);
    EXPECT_EQ(end->data.view(), R"({"greeting":"x"})");
  }
  EXPECT_TRUE(jobs[0]->wait(10s)) << "and again";
  ASSERT_TRUE(jobs[1]->remove());
  EXPECT_EQ(jobs[1]->wait(1s).error().code, ErrorCode::not_found);
}

TEST_F(RemoteTest, errors_are_those_of_the_library) {
  Runtime runtime = connected();
  EXPECT_EQ(runtime.start("nobody.has.it", Payload("{}")).error().code, ErrorCode::not_found);
  ASSERT_TRUE(runtime.start("hello.asked", Payload("{}"), {.id = "e"}));
  EXPECT_EQ(runtime.start("hello.asked", Payload("{}"), {.id = "e", .reuse = IdReuse::reject}).error().code,
            ErrorCode::already_exists);
  EXPECT_EQ((*runtime.find("e"))->wait(10ms).error().code, ErrorCode::retry_later);
  EXPECT_EQ((*runtime.find("e"))->redrive().error().code, ErrorCode::invalid);
  EXPECT_EQ(runtime.complete("w-1-1-1", Payload("{}")).error().code, ErrorCode::conflict);
  EXPECT_EQ(runtime.deploy(AppText{"app: 1"}).error().code, ErrorCode::invalid);
  const auto refused = connect({.url = server_->url(), .token = "wrong"});
  ASSERT_TRUE(refused) << "health needs no token";
  EXPECT_FALSE(connect("http://127.0.0.1:1"));
}

TEST_F(RemoteTest, a_server_that_comes_back_finds_its_workers_again) {
  // The store is in memory, so this server has nothing of the old one; the worker does not care.
  Runtime runtime = connected();
  runtime.on_problem([](const std::string&) {}).keep();
  ASSERT_TRUE(runtime.serve("greet", [](Work&) { return Payload(R"({"text":"x"})"); }));
  ASSERT_TRUE(runtime.launch());
  const std::uint16_t port =
      static_cast<std::uint16_t>(std::stoi(server_->url().substr(server_->url().rfind(':') + 1)));
  server_.reset();
  ServerOptions options;
  options.runtime.store = ":memory:";
  options.http.port = port;
  options.access.token = "a token of the test";
  auto started = Server::start(options, log_, [](runtime::LocalRuntime& its_runtime) {
    const auto deployed = its_runtime.deploy(AppText{greet_app}, {});
    return deployed ? Status() : Status(deployed.error());
  });
  ASSERT_TRUE(started) << started.error().detail;
  server_ = std::move(*started);
  const auto job = runtime.start("hello.said", Payload("{}"), {.id = "again"});
  ASSERT_TRUE(job) << job.error().detail;
  const auto end = job->wait(10s);
  ASSERT_TRUE(end);
  EXPECT_EQ(end->status, JobStatus::completed);
}

}  // namespace
}  // namespace pawl::serve
