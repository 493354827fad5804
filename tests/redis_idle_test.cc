// An idle engine over Redis sends its renewals, and one read with each. It does not poll.
#include <map>
#include <memory>
#include <sstream>
#include <string>

#include "life.h"
#include "store/redis/server_test.h"
#include "testing.h"

namespace pawl::testing {
namespace {

constexpr std::uint32_t lanes = 4;

// How often each command ran so far, also in scripts.
std::map<std::string, long> calls(const store::redis::TestServer& server) {
  std::map<std::string, long> counts;
  std::istringstream lines(server.ask({"INFO", "commandstats"}));
  const std::string prefix = "cmdstat_";
  for (std::string line; std::getline(lines, line);) {
    const auto colon = line.find(":calls=");
    if (line.rfind(prefix, 0) == 0 && colon != std::string::npos)
      counts[line.substr(prefix.size(), colon - prefix.size())] = std::stol(line.substr(colon + 7));
  }
  return counts;
}

long commits(const store::redis::TestServer& server) {
  long sum = 0;
  for (std::uint32_t lane = 1; lane <= lanes; ++lane)
    sum += std::atol(server.ask({"HGET", "pawl:{" + std::to_string(lane) + "}:lane", "commits"}).c_str());
  return sum;
}

TEST(RedisIdle, an_engine_with_nothing_to_do_sends_renewals_and_looks_only_with_them) {
  store::redis::ServerOptions options;
  options.appendfsync = "always";
  const store::redis::TestServer server(options);
  auto opened = pawl::open({.store = server.url(), .lanes = lanes, .lease = 1s});
  ASSERT_TRUE(opened.ok()) << to_string(opened.error());
  Runtime& runtime = *opened;
  auto graph = GraphBuilder("chain").trigger("t").worker("one", "add").after("t").build();
  ASSERT_TRUE(runtime.deploy(std::move(*graph)).ok());
  ASSERT_TRUE(runtime.serve("add", [](Work&) { return Reply::success(); }).ok());
  ASSERT_TRUE(runtime.launch().ok());
  for (int i = 0; i < 20; ++i) {
    const auto job = runtime.start("chain", Payload("x"), {.id = "j" + std::to_string(i)});
    ASSERT_TRUE(job.ok()) << to_string(job.error());
    ASSERT_TRUE(job->wait(60s).ok());
  }
  // Renewals are the clock of this test: on a machine of any speed, nothing else may come between two of them.
  const auto after_renewals = [&](long count) {
    const long until = commits(server) + count;
    return comes_true([&] { return commits(server) >= until; });
  };
  ASSERT_TRUE(after_renewals(lanes));  // the jobs' remaining work is done
  const long commits_before = commits(server);
  const auto before = calls(server);
  ASSERT_TRUE(after_renewals(5 * lanes));
  const auto after = calls(server);
  const long renewals = commits(server) - commits_before;
  // With each renewal the engine reads what waits in the lane, in case a notification was lost. An engine that polls
  // would read far more often.
  constexpr long per_renewal_max = 3;
  std::string all;
  for (const auto& [name, count] : after) {
    const auto known = before.find(name);
    const long times = count - (known == before.end() ? 0 : known->second);
    if (times == 0 || name == "info" || name == "hget") continue;  // from this test
    all += name + ": " + std::to_string(times) + "\n";
    const bool of_all_lanes = name == "smembers";  // topics that are paused
    EXPECT_LE(times, per_renewal_max * renewals * (of_all_lanes ? lanes : 1)) << name;
  }
  // A group of a lane is a call of the server's function.
  EXPECT_GE(after.at("fcall") - before.at("fcall"), renewals - static_cast<long>(lanes)) << all;
}

}  // namespace
}  // namespace pawl::testing
