// Runtimes over one Redis that fails under them.
#include <filesystem>
#include <thread>

#include "redis/runtimes.h"
#include "store/redis/server_test.h"

namespace pawl::testing {
namespace {

using store::redis::ServerOptions;
using store::redis::TestServer;

ServerOptions always() {
  ServerOptions options;
  options.appendfsync = "always";
  return options;
}

// The part of the log that grows.
std::filesystem::path log_of(const TestServer& server) {
  std::filesystem::path found;
  for (const auto& file : std::filesystem::directory_iterator(server.folder() / "appendonlydir"))
    if (file.path().string().ends_with(".incr.aof") && file.path() > found) found = file.path();
  return found;
}

TEST(RedisFaults, kills_restarts_rewrites_and_forgotten_scripts_lose_nothing_under_always) {
  TestServer server(always());
  ServedRuntime runtime(server.url());
  ASSERT_TRUE(runtime);
  Load load(runtime);
  const auto some_more = [&] { EXPECT_TRUE(load.makes(20)) << runtime.problems(); };
  some_more();
  for (int round = 0; round < 3; ++round) {
    server.ask({"BGREWRITEAOF"});
    some_more();
    EXPECT_EQ(server.ask({"SCRIPT", "FLUSH"}), "OK");
    some_more();
    server.kill();
    server.start();
    some_more();
    server.stop();
    server.start();
    some_more();
  }
  EXPECT_TRUE(comes_true([&] {
    return server.ask({"INFO", "persistence"}).find("aof_rewrite_in_progress:0") != std::string::npos;
  }));
  const auto runs = load.stop();
  runtime.expect_ends(runs);
  EXPECT_FALSE(runtime.reported("older state")) << runtime.problems();
}

// A server that syncs every second and dies with its machine has lost what came since: here the end of its log is cut
// off.
TEST(RedisFaults, everysec_loses_at_most_its_last_second_and_whoever_lives_notices) {
  TestServer server;
  ServedRuntime runtime(server.url(), 1, true);
  ASSERT_TRUE(runtime);
  EXPECT_TRUE(comes_true([&] { return runtime.reported("appendfsync is everysec"); }))
      << "what it does not promise is said";
  const RunId kept = runtime.submit("kept");
  runtime.expect_ends({kept});
  // What is synced by now.
  const auto synced = std::filesystem::file_size(log_of(server));
  const RunId lost = runtime.submit("lost");
  runtime.expect_ends({lost});
  server.kill();
  std::filesystem::resize_file(log_of(server), synced);
  server.start();
  EXPECT_TRUE(comes_true([&] { return runtime.reported("older state"); }, 60s)) << runtime.problems();
  const auto refused = runtime->start("chain", Payload("x"), {.id = "new"});
  EXPECT_TRUE(fails_with(refused, ErrorCode::corrupt, {"lane 1", "older state", "bring the data back"}));
  EXPECT_FALSE(runtime->job(lost).wait(100ms).ok());
  runtime->stop();
  // A process that starts now sees everything that was synced, and continues from there.
  ServedRuntime next(server.url(), 1, true);
  ASSERT_TRUE(next);
  next.expect_ends({kept});
  next.expect_ends({next.submit("lost")});
}

TEST(RedisFaults, an_emptied_server_stops_work_of_both_collations_and_is_not_taken_for_a_new_one) {
  TestServer server(always());
  ServedRuntime runtime(server.url(), 1);
  ASSERT_TRUE(runtime);
  const RunId ledger = runtime.submit("ledger");
  const RunId duplex = runtime.submit("duplex", Collation::duplex);
  runtime.expect_ends({ledger, duplex});
  server.ask({"FLUSHALL"});
  EXPECT_TRUE(runtime.refuses("b", Collation::duplex, {"lane 1", "older state", "bring the data back"}));
  EXPECT_TRUE(runtime.refuses("a", Collation::ledger, {"lane 1", "older state", "bring the data back"}));
  // No caller gets the answer that these jobs do not exist.
  EXPECT_TRUE(fails_with(runtime->find("ledger"), ErrorCode::retry_later, {"older state"}));
  EXPECT_TRUE(fails_with(runtime->job(duplex).inspect(), ErrorCode::retry_later, {"older state"}));
  EXPECT_TRUE(fails_with(runtime->list({}), ErrorCode::retry_later, {"older state"}));
  EXPECT_TRUE(comes_true([&] { return runtime.reported("older state"); })) << runtime.problems();
  runtime->stop();
  EXPECT_EQ(server.ask({"KEYS", "*{1}*"}), "") << "nothing was written into the empty world";
}

TEST(RedisFaults, a_full_server_refuses_new_work_and_what_waits_goes_on_when_there_is_room) {
  TestServer server(always());
  ServedRuntime runtime(server.url(), 2);
  ASSERT_TRUE(runtime);
  std::vector<RunId> runs;
  for (int i = 0; i < 10; ++i)
    runs.push_back(runtime.submit("before-" + std::to_string(i), i % 2 == 0 ? Collation::ledger : Collation::duplex));
  EXPECT_EQ(server.ask({"CONFIG", "SET", "maxmemory", "1"}), "OK");
  EXPECT_TRUE(runtime.refuses("a", Collation::ledger, {"OOM"}));
  EXPECT_TRUE(runtime.refuses("b", Collation::duplex, {"OOM"}));
  EXPECT_TRUE(comes_true([&] { return runtime.reported("OOM"); })) << runtime.problems();
  EXPECT_EQ(server.ask({"CONFIG", "SET", "maxmemory", "0"}), "OK");
  for (const Collation collation : {Collation::ledger, Collation::duplex})
    runs.push_back(runtime.submit(collation == Collation::ledger ? "a" : "b", collation));
  runtime.expect_ends(runs);
}

// Such a server has no scripts at all: an engine takes its lanes, and jobs of collation duplex run, by plain commands.
TEST(RedisFaults, a_server_without_scripts_runs_graphs_of_collation_duplex_and_says_that_it_runs_no_others) {
  TestServer server(always());
  EXPECT_EQ(server.ask({"ACL", "SETUSER", "default", "-@scripting"}), "OK");
  ServedRuntime first(server.url(), 4);
  ServedRuntime second(server.url(), 4);
  ASSERT_TRUE(first && second);
  EXPECT_TRUE(comes_true([&] { return first.reported("only graphs of collation duplex"); })) << first.problems();
  EXPECT_TRUE(comes_true([&] { return first->owns() && second->owns(); }, 60s)) << "they share the lanes";
  server.ask({"CONFIG", "RESETSTAT"});
  std::vector<RunId> runs;
  for (int i = 0; i < 20; ++i)
    runs.push_back((i % 2 == 0 ? first : second).submit("j-" + std::to_string(i), Collation::duplex));
  first.expect_ends(runs);
  EXPECT_TRUE(first.refuses("other", Collation::ledger, {"no scripts"}));
  second->stop();  // the other one takes over its lanes
  std::vector<RunId> more;
  for (int i = 0; i < 8; ++i) more.push_back(first.submit("k-" + std::to_string(i), Collation::duplex));
  first.expect_ends(more);
  EXPECT_EQ(server.ask({"INFO", "commandstats"}).find("eval"), std::string::npos);
}

// An idle engine only renews its leases. The least of several measurements, because other programs may keep the machine
// busy.
TEST(RedisFaults, an_idle_engine_does_not_poll_and_yet_its_timers_are_on_time) {
  TestServer server(always());
  ServedRuntime runtime(server.url(), 4);
  ASSERT_TRUE(runtime);
  runtime.expect_ends({runtime.submit("first")});
  const auto commands = [&] {
    const std::string stats = server.ask({"INFO", "stats"});
    return std::stoll(stats.substr(stats.find("total_commands_processed:") + 25));
  };
  long long least_asked = 1'000'000;
  auto least_late = std::chrono::steady_clock::duration::max();
  for (int i = 0; i < 3; ++i) {
    const auto before = commands();
    std::this_thread::sleep_for(300ms);
    least_asked = std::min(least_asked, commands() - before);
    const auto due = std::chrono::steady_clock::now() + 400ms;
    const auto job = runtime->start("chain", Payload("x"), {.id = "later-" + std::to_string(i), .delay = 400ms});
    ASSERT_TRUE(job.ok());
    runtime.expect_ends({job->run()});
    const auto late = std::chrono::steady_clock::now() - due;
    EXPECT_GE(late, -20ms) << "not before its time";
    least_late = std::min(least_late, late);
  }
  EXPECT_LT(least_asked, 100) << "in 300 ms, with all that the scripts do";
  EXPECT_LT(least_late, 300ms);
}

}  // namespace
}  // namespace pawl::testing
