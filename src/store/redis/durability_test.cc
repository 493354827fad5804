// What survives a crash, and that lost data is noticed.
#include <filesystem>
#include <thread>

#include "store/redis/bench_test.h"

namespace pawl::store::redis {

namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

class RedisDurability : public OwnStore {
 protected:
  static ServerOptions always() {
    ServerOptions options;
    options.appendfsync = "always";
    return options;
  }
};

TEST_F(RedisDurability, a_server_that_promises_less_is_refused_with_the_reason_and_taken_when_asked_for) {
  TestServer weak;
  const auto refused = open_at(weak.url());
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::unsupported);
  EXPECT_NE(refused.error().detail.find("appendfsync is everysec"), std::string::npos) << refused.error().detail;
  std::vector<std::string> told;
  Options options;
  options.accept_weaker = true;
  options.on_weakness = [&](const Weakness& one) { told.push_back(one.what); };
  const auto taken = open_at(weak.url(), options);
  ASSERT_TRUE(taken) << to_string(taken.error());
  EXPECT_EQ(told.size(), 1u);
  EXPECT_EQ((*taken)->weaknesses().size(), 1u);

  weak.ask({"CONFIG", "SET", "maxmemory", "100mb"});
  weak.ask({"CONFIG", "SET", "maxmemory-policy", "allkeys-lru"});
  EXPECT_NE(open_at(weak.url()).error().detail.find("noeviction"), std::string::npos);
  weak.ask({"CONFIG", "SET", "appendonly", "no"});
  EXPECT_NE(open_at(weak.url()).error().detail.find("appendonly is no"), std::string::npos);
}

TEST_F(RedisDurability, a_replica_is_refused) {
  TestServer master(always());
  TestServer replica(always());
  replica.ask({"REPLICAOF", "127.0.0.1", format("{}", master.port())});
  const auto refused = open_at(replica.url());
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().detail.find("no master"), std::string::npos) << refused.error().detail;
}

// Commits until the server is killed; everything that was acknowledged must be there afterwards.
TEST_F(RedisDurability, what_was_acknowledged_survives_a_kill_of_the_server) {
  TestServer server(always());
  use(server.url());
  std::atomic<bool> killed{false};
  std::thread killer([&] {
    std::this_thread::sleep_for(milliseconds(300));
    server.kill();
    killed = true;
  });
  std::vector<RunId> acknowledged;
  for (int i = 0; !killed; ++i) {
    const auto made = try_commit(a_job(format("job-{}", i), lane_));
    if (made)
      acknowledged.push_back(made->run());
    else
      EXPECT_TRUE(made.error().code == ErrorCode::outcome_unknown || made.error().code == ErrorCode::retry_later)
          << to_string(made.error());
  }
  killer.join();
  server.start();
  EXPECT_GT(acknowledged.size(), 10u);
  for (const RunId run : acknowledged) EXPECT_TRUE(store_->read_job(run)->has_value()) << run.raw();
  EXPECT_EQ(commit(a_job("after", lane_)).kind, OutcomeKind::committed)
      << "scripts are told again, and the lane goes on";
}

TEST_F(RedisDurability, a_reply_that_never_came_is_an_outcome_that_is_not_known) {
  TestServer server(always());
  Options options;
  options.reply_timeout = milliseconds(100);
  use(server.url(), options);
  std::thread busy([&] { server.ask({"DEBUG", "SLEEP", "0.6"}); });
  std::this_thread::sleep_for(milliseconds(100));
  const auto lost = try_commit(a_job("a", lane_));
  busy.join();
  ASSERT_FALSE(lost);
  EXPECT_EQ(lost.error().code, ErrorCode::outcome_unknown);
  EXPECT_EQ(commit(a_job("a", lane_)).kind, OutcomeKind::exists) << "it happened, and whoever asks again hears so";
}

TEST_F(RedisDurability, a_server_that_is_not_there_did_nothing) {
  TestServer server(always());
  use(server.url());
  server.stop();
  const auto refused = try_commit(a_job("a", lane_));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::retry_later);
  EXPECT_EQ(store_->read_job(RunId(1)).error().code, ErrorCode::retry_later);
  server.start();
  EXPECT_EQ(commit(a_job("a", lane_)).kind, OutcomeKind::committed);
}

TEST_F(RedisDurability, a_store_that_was_emptied_is_noticed_and_stops_the_lane) {
  TestServer server(always());
  use(server.url());
  submit("a");
  server.ask({"FLUSHALL"});
  const auto refused = try_commit(a_job("b", lane_));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::corrupt);
  EXPECT_NE(refused.error().detail.find("older state"), std::string::npos) << refused.error().detail;
  EXPECT_EQ(server.ask({"DBSIZE"}), "0") << "nothing was written into the empty world";
}

TEST_F(RedisDurability, an_older_copy_that_was_brought_back_is_noticed) {
  TestServer server(always());
  use(server.url());
  submit("a");
  server.stop();
  const std::filesystem::path copy = server.folder() / "copy";
  std::filesystem::copy(server.folder() / "appendonlydir", copy, std::filesystem::copy_options::recursive);
  server.start();
  submit("b");
  server.stop();
  std::filesystem::remove_all(server.folder() / "appendonlydir");
  std::filesystem::copy(copy, server.folder() / "appendonlydir", std::filesystem::copy_options::recursive);
  server.start();
  const auto refused = try_commit(a_job("c", lane_));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::corrupt);
  EXPECT_NE(refused.error().detail.find("older state"), std::string::npos) << refused.error().detail;
  const core::LaneId other(lane_.raw() + 1);
  EXPECT_TRUE(try_commit(a_job("d", other))) << "a lane that lost nothing goes on";
}

TEST_F(RedisDurability, another_store_in_its_place_is_noticed) {
  TestServer server(always());
  use(server.url());
  submit("a");
  server.ask({"FLUSHALL"});
  const auto other = open_at(server.url());
  ASSERT_TRUE(other);
  const std::vector<Operation> start = {OpenPool{Pool("graphs"), 2}, AcquireLane{core::LaneId(1), "b", seconds(30)}};
  ASSERT_TRUE((*other)->commit(start));
  for (int i = 0; i < 20; ++i) {
    const Operation job = a_job(format("job-{}", i), lane_);
    ASSERT_TRUE((*other)->commit({&job, 1}));
  }
  const auto refused = try_commit(a_job("b", lane_));
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().detail.find("another store"), std::string::npos) << refused.error().detail;
}

TEST_F(RedisDurability, a_full_server_takes_nothing_new_and_goes_on_when_there_is_room) {
  TestServer server(always());
  use(server.url());
  const RunId run = submit("a");
  server.ask({"CONFIG", "SET", "maxmemory", "1"});
  const auto refused = try_commit(a_job("b", lane_));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::retry_later) << to_string(refused.error());
  EXPECT_EQ(job(run).state.job.rev, core::Rev(0)) << "it can be read";
  server.ask({"CONFIG", "SET", "maxmemory", "0"});
  EXPECT_EQ(commit(a_job("b", lane_)).kind, OutcomeKind::committed);
}

}  // namespace

}  // namespace pawl::store::redis
