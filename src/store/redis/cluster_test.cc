// A cluster: keys that are on other nodes, keys that move while jobs run, nodes that come back.
#include <thread>

#include "store/redis/bench_test.h"
#include "store/redis/keys.h"
#include "store/redis/slot.h"

namespace pawl::store::redis {

namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

class RedisCluster : public OwnStore {
 protected:
  void SetUp() override {
    options_.prefix = fresh_prefix();
    options_.accept_weaker = true;
    use(shared_cluster().url(), options_, 12);
  }
  std::uint16_t slot() const { return slot_of(tag_of(lane_)); }

  Options options_;
};

TEST_F(RedisCluster, lanes_are_on_several_nodes_and_all_of_them_work) {
  std::set<std::size_t> nodes;
  for (std::uint32_t i = 0; i < 12; ++i) {
    const core::LaneId lane(lane_.raw() + i);
    nodes.insert(shared_cluster().owner_of(slot_of(tag_of(lane))));
    EXPECT_EQ(commit(a_job(format("job-{}", i), lane)).kind, OutcomeKind::committed);
    EXPECT_TRUE(store_->find_run(Namespace("default"), JobId(format("job-{}", i)))->has_value());
  }
  EXPECT_EQ(nodes.size(), 3u);
  EXPECT_EQ(store_->list_jobs({})->size(), 12u);
}

TEST_F(RedisCluster, gets_more_lanes_than_one_server) {
  EXPECT_EQ(store_->usual_lanes(), pawl::limits::server_lanes);
  EXPECT_GT(store_->usual_lanes(), limits::lanes_of_one_server);
}

TEST_F(RedisCluster, a_group_of_several_lanes_is_one_script_for_each) {
  std::vector<Operation> group;
  for (std::uint32_t i = 0; i < 12; ++i) group.emplace_back(a_job(format("job-{}", i), core::LaneId(lane_.raw() + i)));
  const auto outcomes = store_->commit(group);
  ASSERT_TRUE(outcomes);
  for (const Outcome& outcome : *outcomes) EXPECT_EQ(outcome.kind, OutcomeKind::committed) << outcome.reason;
}

TEST_F(RedisCluster, reads_of_many_lanes_come_in_one_batch) {
  std::vector<Read> reads;
  for (std::uint32_t i = 0; i < 12; ++i) {
    const RunId run = commit(a_job(format("job-{}", i), core::LaneId(lane_.raw() + i))).run();
    reads.emplace_back(ReadJob{run});
  }
  const auto answers = store_->read(reads);
  ASSERT_EQ(answers.size(), 12u);
  for (const ReadAnswer& answer : answers) {
    const auto& job = std::get<Answered<ReadJob>>(answer).value;
    ASSERT_TRUE(job && *job);
    EXPECT_EQ((*job)->inbox.size(), 1u);
  }
}

TEST_F(RedisCluster, a_slot_that_moved_is_followed) {
  const RunId run = submit("a");
  const std::size_t from = shared_cluster().owner_of(slot());
  shared_cluster().move_slot(slot(), (from + 1) % 3);
  ASSERT_NE(shared_cluster().owner_of(slot()), from);
  EXPECT_EQ(commit(bundle_for(run)).kind, OutcomeKind::committed);
  EXPECT_EQ(job(run).state.job.rev, core::Rev(1));
  shared_cluster().move_slot(slot(), from);
  EXPECT_EQ(job(run).state.job.rev, core::Rev(1));
}

// Half of the keys are on each node: a script that needs all of them waits, and is never half applied.
TEST_F(RedisCluster, jobs_go_on_while_their_slot_moves) {
  std::vector<RunId> runs;
  for (int i = 0; i < 30; ++i) runs.push_back(submit(format("job-{}", i)));
  std::atomic<bool> over{false};
  std::atomic<int> done{0};
  std::thread engine([&] {
    std::vector<std::uint64_t> revs(runs.size(), 0);
    for (std::size_t i = 0; !over; i = (i + 1) % runs.size()) {
      core::JobHead head;
      const Operation bundle =
          core::Bundle{runs[i], epoch_, core::Rev(revs[i]), core::BundleId(1000 + revs[i]), head, {}};
      const auto outcomes = store_->commit({&bundle, 1});
      if (!outcomes) {  // retry_later: it is sent again
        EXPECT_EQ(outcomes.error().code, ErrorCode::retry_later) << to_string(outcomes.error());
        continue;
      }
      EXPECT_TRUE(outcomes->front().done()) << name_of(outcomes->front().kind) << " " << outcomes->front().reason;
      ++revs[i];
      ++done;
    }
    for (std::size_t i = 0; i < runs.size(); ++i) EXPECT_EQ(job(runs[i]).state.job.rev, core::Rev(revs[i]));
  });
  const std::size_t from = shared_cluster().owner_of(slot());
  for (const std::size_t to : {(from + 1) % 3, (from + 2) % 3, from}) {
    shared_cluster().move_slot(slot(), to, [] { std::this_thread::sleep_for(milliseconds(50)); });
    const int before = done;
    for (int i = 0; i < 200 && done == before; ++i) std::this_thread::sleep_for(milliseconds(10));
    EXPECT_GT(done, before) << "they go on at the new place";
  }
  over = true;
  engine.join();
}

TEST_F(RedisCluster, a_node_that_comes_back_with_its_log_lost_nothing) {
  const RunId run = submit("a");
  TestServer& node = shared_cluster().node(shared_cluster().owner_of(slot()));
  node.stop();
  const auto meanwhile = try_commit(a_job("b", lane_));
  EXPECT_FALSE(meanwhile);
  node.start();
  for (int i = 0; i < 500; ++i) {
    if (try_commit(bundle_for(run))) break;
    std::this_thread::sleep_for(milliseconds(20));
  }
  EXPECT_EQ(job(run).state.job.rev, core::Rev(1));
  EXPECT_EQ(job(run).state.job.id, JobId("a"));
}

TEST_F(RedisCluster, rings_reach_whoever_listens_at_any_node) {
  struct Heard final : Listener {
    void rung(const Change& change) override {
      for (const RunId run : change.runs) last = run.raw();
    }
    void owner_gone() override {}
    std::atomic<std::uint64_t> last{0};
  } heard;
  store_->listen(heard);
  const auto other = open_at(shared_cluster().url(), options_);
  ASSERT_TRUE(other);
  const Operation operation = a_job("told", lane_);
  const auto made = (*other)->commit({&operation, 1});
  ASSERT_TRUE(made);
  for (int i = 0; i < 300 && heard.last == 0; ++i) std::this_thread::sleep_for(milliseconds(10));
  EXPECT_EQ(heard.last, made->front().run().raw());
  store_->stop_listening(heard);
}

}  // namespace

}  // namespace pawl::store::redis
