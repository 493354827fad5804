#include "store/memory/store.h"

#include <thread>

#include "store/conformance/history.h"

namespace pawl::store::memory {

namespace {

std::vector<Operation> start() {
  return {OpenPool{Pool("graphs"), 2}, AcquireLane{core::LaneId(1), "engine-a", std::chrono::seconds(30)},
          AcquireLane{core::LaneId(2), "engine-a", std::chrono::seconds(30)}};
}

Dump dump_after(std::uint64_t seed, int steps) {
  ManualClock clock;
  Store store(clock);
  EXPECT_TRUE(store.commit(start()));
  History history(store, clock, core::LaneId(1), {seed, "default", true});
  for (int i = 0; i < steps; ++i) history.step();
  return store.dump();
}

TEST(memory_store, the_same_history_gives_the_same_dump) {
  const Dump dump = dump_after(3, 1000);
  EXPECT_EQ(dump, dump_after(3, 1000));
  EXPECT_FALSE(dump == dump_after(4, 1000));
  EXPECT_FALSE(dump == dump_after(3, 990));
}

TEST(memory_store, a_dump_holds_what_the_reads_show) {
  ManualClock clock;
  Store store(clock);
  ASSERT_TRUE(store.commit(start()));
  History history(store, clock, core::LaneId(1), {7, "default", true});
  for (int i = 0; i < 500; ++i) history.step();
  const Dump dump = store.dump();
  ASSERT_FALSE(dump.jobs.empty());
  for (const DumpedJob& job : dump.jobs) {
    const StoredJob read = **store.read_job(job.job.run);
    EXPECT_EQ(read.state.job, job.job);
    EXPECT_EQ(read.inbox, job.inbox);
    EXPECT_EQ(read.state.activities().size(), job.activities.size());
    EXPECT_EQ(read.state.messages().size(), job.records.size());
    EXPECT_EQ(read.state.work().size(), job.work.size());
    for (std::size_t i = 1; i < job.records.size(); ++i) EXPECT_LT(job.records[i - 1].guid, job.records[i].guid);
    for (std::size_t i = 1; i < job.work.size(); ++i) EXPECT_LT(job.work[i - 1].activity, job.work[i].activity);
  }
  ASSERT_EQ(dump.lanes.size(), 2u);
  EXPECT_EQ(dump.lanes[0].epoch, store.read_lane(core::LaneId(1))->epoch);
}

TEST(memory_store, readers_may_look_while_somebody_commits) {
  SystemClock clock;
  Store store(clock);
  ASSERT_TRUE(store.commit(start()));
  const core::GraphRef graph{GraphName("g"), 1, 1};
  std::jthread reader([&](std::stop_token stop) {
    while (!stop.stop_requested()) {
      const auto rows = store.list_jobs({});
      for (const core::JobRow& row : *rows) EXPECT_TRUE(store.read_job(row.run)->has_value());
    }
  });
  for (int i = 0; i < 500; ++i) {
    const std::vector<Operation> group = {
        Submit{Namespace("default"), JobId(format("job-{}", i)), core::LaneId(1), graph, "in", clock.now()}};
    ASSERT_TRUE(store.commit(group));
  }
}

// --- lanes as islands

class Islands : public testing::Test {
 protected:
  Islands() {
    EXPECT_TRUE(store_.commit(start()));
    for (const char* id : {"a", "b"}) {
      const core::LaneId lane(id[0] == 'a' ? 1 : 2);
      runs_.push_back(commit(Submit{Namespace("n"), JobId(id), lane, {GraphName("g"), 1, 1}, "", clock_.now()}).run());
    }
  }
  Outcome commit(const Operation& operation) { return (*store_.commit({&operation, 1}))[0]; }

  ManualClock clock_;
  Store store_{clock_, Lanes::islands,
               [](core::LaneId lane) { return std::chrono::seconds(lane == core::LaneId(2) ? 20 : 0); }};
  std::vector<RunId> runs_;
};

TEST_F(Islands, an_operation_that_finds_a_key_in_another_lane_is_a_violation) {
  EXPECT_EQ(store_.violation(), std::nullopt);
  commit(Submit{Namespace("n"), JobId("a"), core::LaneId(2), {GraphName("g"), 1, 1}, "", clock_.now()});
  EXPECT_EQ(store_.violation(), "an operation of lane 2 touched lane 1");
}

TEST_F(Islands, an_operation_on_all_lanes_is_rejected) {
  EXPECT_FALSE(store_.spans_lanes());
  EXPECT_EQ(commit(ClaimWork{{Topic("t")}, 1, "w", std::chrono::seconds(1)}).kind, OutcomeKind::rejected);
  EXPECT_EQ(commit(PauseTopic{Topic("t"), true}).kind, OutcomeKind::rejected);
  EXPECT_EQ(commit(DropKeys{clock_.now()}).kind, OutcomeKind::rejected);
  EXPECT_EQ(commit(PauseTopic{Topic("t"), true, core::LaneId(2)}).kind, OutcomeKind::committed);
  EXPECT_EQ(*store_.read_paused_topics(), std::vector<Topic>{Topic("t")});
  EXPECT_EQ(store_.violation(), std::nullopt);
}

TEST_F(Islands, each_lane_has_its_own_clock) {
  const Instant first = *commit(AcquireLane{core::LaneId(1), "engine-a", std::chrono::seconds(30)}).lease_until();
  const Instant second = *commit(AcquireLane{core::LaneId(2), "engine-a", std::chrono::seconds(30)}).lease_until();
  EXPECT_EQ(second - first, Duration(std::chrono::seconds(20)));
}

TEST_F(Islands, a_send_touches_its_own_lane_and_nothing_else) {
  core::Bundle bundle;
  bundle.entity = runs_[0];
  bundle.epoch = core::Epoch(1);
  bundle.id = core::BundleId(1);
  bundle.head = core::JobHead{};
  bundle.writes = {core::Send{{runs_[1], {core::Guid{1, 1}, core::Start{}}}}};
  const Outcome sent = commit(bundle);
  EXPECT_EQ(sent.kind, OutcomeKind::committed) << sent.reason;
  EXPECT_EQ(store_.read_job(runs_[1])->value().inbox.size(), 1u) << "its start";
  EXPECT_EQ(store_.read_outbox(core::LaneId(1), 10)->size(), 1u);
  EXPECT_EQ(store_.violation(), std::nullopt);
}

}  // namespace

}  // namespace pawl::store::memory
