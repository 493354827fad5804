#include "store/memory/store.h"

#include <thread>

#include "store/conformance/history.h"

namespace pawl::store::memory {

namespace {

std::vector<Operation> start() {
  return {OpenPool{Pool("graphs"), 2},
          AcquireLane{core::LaneId(1), "engine-a", std::chrono::seconds(30)},
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
    for (std::size_t i = 1; i < job.records.size(); ++i)
      EXPECT_LT(job.records[i - 1].guid, job.records[i].guid);
    for (std::size_t i = 1; i < job.work.size(); ++i)
      EXPECT_LT(job.work[i - 1].activity, job.work[i].activity);
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
    const std::vector<Operation> group = {Submit{Namespace("default"), JobId(format("job-{}", i)),
                                                 core::LaneId(1), graph, "in", clock.now()}};
    ASSERT_TRUE(store.commit(group));
  }
}

}  // namespace

}  // namespace pawl::store::memory
