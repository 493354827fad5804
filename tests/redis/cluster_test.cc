// Runtimes over a cluster whose slots move and whose masters come and go.
#include <map>
#include <set>

#include "redis/runtimes.h"
#include "store/redis/keys.h"
#include "store/redis/server_test.h"
#include "store/redis/slot.h"

namespace pawl::testing {
namespace {

using store::redis::TestCluster;
using store::redis::TestServer;

constexpr std::uint32_t lanes = 12;

std::uint16_t slot_of_lane(std::uint32_t lane) {
  return store::redis::slot_of(store::redis::tag_of(core::LaneId(lane)));
}

std::vector<RunId> some_jobs(ServedRuntime& runtime, int count, const std::string& name) {
  std::vector<RunId> runs;
  for (int i = 0; i < count; ++i)
    runs.push_back(runtime.submit(name + std::to_string(i), i % 3 == 2 ? Collation::duplex : Collation::ledger));
  return runs;
}

TEST(RedisClusterRuntime, jobs_of_both_collations_end_while_all_their_slots_move) {
  TestCluster cluster;
  ServedRuntime runtime(cluster.url(), lanes, true);
  ASSERT_TRUE(runtime);
  Load load(runtime);
  EXPECT_TRUE(load.makes(10));
  for (std::uint32_t lane = 1; lane <= lanes; lane += 2) {
    const std::uint16_t slot = slot_of_lane(lane);
    // Jobs of the other lanes continue meanwhile; those of this lane continue at the new place.
    cluster.move_slot(slot, (cluster.owner_of(slot) + 1) % cluster.size(), [] { std::this_thread::sleep_for(50ms); });
    EXPECT_TRUE(load.makes(10)) << runtime.problems();
  }
  runtime.expect_ends(load.stop());
  EXPECT_FALSE(runtime.reported("older state")) << runtime.problems();
}

TEST(RedisClusterRuntime, a_master_that_is_killed_and_comes_back_with_its_log_lost_nothing) {
  TestCluster cluster("always");
  ServedRuntime runtime(cluster.url(), lanes);
  ASSERT_TRUE(runtime);
  std::vector<RunId> runs = some_jobs(runtime, 30, "before-");
  cluster.node(1).kill();
  cluster.node(1).start();
  const auto more = some_jobs(runtime, 20, "after-");
  runs.insert(runs.end(), more.begin(), more.end());
  runtime.expect_ends(runs);
  EXPECT_FALSE(runtime.reported("older state")) << runtime.problems();
}

// Its replica stopped receiving, then took over: its lanes are older than the engine knows, those of the other masters
// are not.
TEST(RedisClusterRuntime, a_replica_that_was_behind_and_took_over_stops_its_lanes_and_no_others) {
  TestCluster cluster("always");
  TestServer& replica = cluster.add_replica(0);
  ServedRuntime runtime(cluster.url(), lanes);
  ASSERT_TRUE(runtime);
  const auto before = some_jobs(runtime, 30, "before-");
  runtime.expect_ends(before);
  // From here on the replica receives nothing: what is committed now is lost with the master.
  cluster.node(0).ask({"CONFIG", "SET", "repl-timeout", "3600"});
  cluster.cut_off(replica, 0);
  runtime.expect_ends(some_jobs(runtime, 30, "lost-"));
  const auto commits = [](TestServer& server, std::uint32_t lane) {
    const std::string answer = server.ask({"HGET", "pawl:{" + std::to_string(lane) + "}:lane", "commits"});
    return answer.empty() || answer.find_first_not_of("0123456789") != std::string::npos ? 0 : std::stoll(answer);
  };
  std::map<std::uint32_t, long long> had;
  std::set<std::uint32_t> behind, others;
  for (std::uint32_t lane = 1; lane <= lanes; ++lane) {
    had[lane] = commits(cluster.node(0), lane);  // none: on another master
    if (had[lane] == 0) others.insert(lane);
  }
  cluster.node(0).kill();
  EXPECT_EQ(replica.ask({"CLUSTER", "FAILOVER", "TAKEOVER"}), "OK");
  for (const auto& [lane, before_it] : had)
    if (before_it > 0 && commits(replica, lane) < before_it) behind.insert(lane);
  ASSERT_FALSE(behind.empty() || others.empty());
  for (const std::size_t other : {1u, 2u})
    EXPECT_TRUE(comes_true(
        [&] {
          return cluster.node(other).ask({"CLUSTER", "INFO"}).find("cluster_state:ok") != std::string::npos;
        },
        60s));
  EXPECT_TRUE(comes_true(
      [&] {
        for (const std::uint32_t lane : behind)
          if (!runtime.reported("lane " + std::to_string(lane) + ": the server has an older state")) return false;
        return true;
      },
      60s))
      << runtime.problems();
  // For a lane that lost only its last renewals there is no rule: it continues, or is found to be behind a moment
  // later.
  std::vector<RunId> certain;
  for (const RunId run : before)
    if (behind.contains(core::lane_of(run).raw()) || others.contains(core::lane_of(run).raw())) certain.push_back(run);
  EXPECT_TRUE(runtime.stopped_only(certain, behind)) << runtime.problems();
  std::vector<RunId> runs;
  for (int i = 0; i < 30; ++i) {
    const auto job = runtime->start("chain", Payload("x"), {.id = "after-" + std::to_string(i)});
    if (job)
      runs.push_back(job->run());
    else
      EXPECT_NE(to_string(job.error()).find("the server has an older state"), std::string::npos)
          << to_string(job.error());
  }
  EXPECT_GT(runs.size(), 0u) << runtime.problems();
  runtime.expect_ends(runs);
  for (const std::uint32_t lane : others)
    EXPECT_FALSE(runtime.reported("lane " + std::to_string(lane) + ": the server has an older")) << lane;
}

}  // namespace
}  // namespace pawl::testing
