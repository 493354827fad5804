// A pass of retention that is cut off between any two of its commits, or whose answers are lost, leaves nothing half
// done: the next pass ends it.
#include "runtime/retention.h"

#include <gtest/gtest.h>

#include "base/format.h"
#include "runtime/engine_bench.h"
#include "store/fault/store.h"
#include "store/forward_store.h"
#include "store/memory/store.h"

namespace pawl::runtime {
namespace {

using std::chrono::hours;

struct Place {
  ManualClock clock;
  store::memory::Store memory{clock};
  std::vector<RunId> runs;

  explicit Place(std::uint64_t jobs) {
    commit(store::OpenPool{Pool("p"), 2});
    for (const std::uint32_t lane : {1u, 2u})
      commit(store::AcquireLane{core::LaneId(lane), "e", std::chrono::hours(1000)});
    for (std::uint64_t i = 0; i < jobs; ++i) runs.push_back(end_job(i));
  }
  store::Outcome commit(store::Operation operation) {
    auto outcomes = memory.commit({&operation, 1});
    EXPECT_TRUE(outcomes.ok() && outcomes->front().done()) << (outcomes.ok() ? outcomes->front().reason : "");
    return std::move(outcomes->front());
  }
  // A job each second; every third one failed, every fourth one is still open.
  RunId end_job(std::uint64_t i) {
    clock.advance(std::chrono::seconds(1));
    const core::LaneId lane(1 + static_cast<std::uint32_t>(i % 2));
    const RunId run =
        commit(store::Submit{Namespace("default"), JobId(format("j{}", i)), lane,
                             core::GraphRef{GraphName(i % 5 == 0 ? "other" : "g"), 1, 7}, "{}", clock.now()})
            .run();
    if (i % 4 == 3) return run;
    core::Bundle bundle{run, memory.read_lane(lane)->epoch, core::Rev(0), core::BundleId(1), core::JobHead{}, {}};
    auto& head = std::get<core::JobHead>(bundle.head);
    head.status = i % 3 == 0 ? core::JobStatus::failed : core::JobStatus::completed;
    head.completions = 1;
    head.closed_at = clock.now();
    commit(std::move(bundle));
    return run;
  }
  std::size_t left() {
    store::ListQuery query;
    query.rows_max = 10'000;
    return memory.list_jobs(query)->size();
  }
};

CommitAll into(store::Store& store) {
  return [&store](std::vector<store::Operation> operations) { return commit_in_one(store, operations); };
}

Retention::Pass pass_of(const Place& place) {
  Retention::Pass pass;
  pass.lanes = {core::LaneId(1), core::LaneId(2)};
  pass.now = place.clock.now();
  return pass;
}

TEST(retention, a_pass_that_is_cut_off_anywhere_is_ended_by_the_next_one) {
  constexpr std::uint64_t jobs = 480;
  std::size_t wanted = 0;
  std::uint64_t calls = 0;
  {
    Place place(jobs);
    store::fault::Store counted(place.memory, {});
    Retention retention(counted, nullptr, into(counted));
    ASSERT_TRUE(retention.set({.keep = Duration(0)}).ok());
    const std::uint64_t before = counted.calls();
    const auto done = retention.apply(pass_of(place));
    ASSERT_TRUE(done.ok());
    EXPECT_EQ(done->removed, jobs - jobs / 4);
    wanted = place.left();
    EXPECT_EQ(wanted, jobs / 4);
    calls = counted.calls() - before;
    EXPECT_GE(calls, jobs * 3 / 4 / limits::retention_batch_jobs) << "in small batches";
  }
  using store::fault::Kind;
  for (const Kind kind : {Kind::error_before, Kind::error_after, Kind::drop_midway, Kind::duplicate})
    for (std::uint64_t call = 1; call <= calls; ++call) {
      Place place(jobs);
      Retention sound(place.memory, nullptr, into(place.memory));
      ASSERT_TRUE(sound.set({.keep = Duration(0)}).ok());
      store::fault::Fault fault;
      fault.kind = kind;
      fault.applied = 37;
      store::fault::Options plan;
      plan.plan = store::fault::at_call(call, fault);
      store::fault::Store faulty(place.memory, plan);
      Retention cut(faulty, nullptr, into(faulty));
      const auto broken = cut.apply(pass_of(place));
      EXPECT_EQ(broken.ok(), kind == Kind::duplicate);
      EXPECT_EQ(faulty.fired(), 1u);
      ASSERT_TRUE(sound.apply(pass_of(place)).ok());
      EXPECT_EQ(place.left(), wanted) << "call " << call;
      for (const RunId run : place.runs) {
        const auto job = place.memory.read_job_row(run);
        EXPECT_TRUE(!*job || (*job)->status == core::JobStatus::running);
      }
      EXPECT_EQ(place.memory.dump().keys.size(), jobs) << "the ids stay taken for a day";
    }
}

// Set back, a clock makes jobs that look younger than those behind them.
TEST(retention, a_pass_ends_at_the_first_young_job_unless_it_is_to_see_all) {
  Place place(20);
  Retention retention(place.memory, nullptr, into(place.memory));
  ASSERT_TRUE(retention.set({.keep = hours(1)}).ok());
  place.clock.advance(hours(5));
  place.end_job(20);  // young
  place.clock.advance(-hours(3));
  for (std::uint64_t i = 21; i < 30; ++i) place.end_job(i);
  place.clock.advance(std::chrono::minutes(90));
  Retention::Pass pass = pass_of(place);
  pass.depth = Retention::Depth::until_young;
  const std::uint64_t first = retention.apply(pass)->removed;
  pass.depth = Retention::Depth::whole;
  const std::uint64_t rest = retention.apply(pass)->removed;
  EXPECT_GT(first, 0u);
  EXPECT_GT(rest, 0u);
  EXPECT_EQ(retention.apply(pass)->removed, 0u);
}

// Lists of jobs are counted, and how many rows they had.
class CountedLists final : public store::ForwardStore {
 public:
  using ForwardStore::ForwardStore;
  Result<std::vector<core::JobRow>> list_jobs(const store::ListQuery& query) override {
    auto rows = inner_.list_jobs(query);
    if (rows) seen += rows->size();
    return rows;
  }
  std::size_t seen = 0;
};

TEST(retention, a_pass_does_not_read_again_what_is_kept_for_good) {
  Place place(200);
  CountedLists counted(place.memory);
  Retention retention(counted, nullptr, into(counted));
  ASSERT_TRUE(retention.set({.keep = hours(1)}).ok());
  ASSERT_TRUE(retention.set({.graph = "g", .keep = std::nullopt}).ok());
  Retention::Places places;
  const auto pass = [&](Retention::Depth depth) {
    counted.seen = 0;
    Retention::Pass one = pass_of(place);
    one.depth = depth;
    one.places = &places;
    const auto done = retention.apply(one);
    EXPECT_TRUE(done.ok());
    return done ? done->removed : 0;
  };
  place.clock.advance(hours(2));
  EXPECT_GT(pass(Retention::Depth::whole), 0u);
  EXPECT_GT(counted.seen, 100u);
  EXPECT_EQ(pass(Retention::Depth::until_young), 0u);
  EXPECT_EQ(pass(Retention::Depth::until_young), 0u);
  EXPECT_EQ(counted.seen, 0u) << "all that is left is kept for good";
  place.end_job(200);  // of the other graph
  place.clock.advance(hours(2));
  EXPECT_EQ(pass(Retention::Depth::until_young), 1u) << "what comes behind is seen";
  ASSERT_TRUE(retention.set({.graph = "g", .keep = hours(1)}).ok());
  EXPECT_GT(pass(Retention::Depth::until_young), 100u) << "a new rule counts for all";
}

TEST(retention, what_a_pass_may_not_remove_is_left_and_counted) {
  Place place(8);
  core::Bundle bundle{place.runs[3],   place.memory.read_lane(core::lane_of(place.runs[3]))->epoch,
                      core::Rev(0),    core::BundleId(1),
                      core::JobHead{}, {}};
  std::get<core::JobHead>(bundle.head).status = core::JobStatus::failed;  // its end is still being told
  place.commit(std::move(bundle));
  Retention retention(place.memory, nullptr, into(place.memory));
  ASSERT_TRUE(retention.set({.keep = Duration(0)}).ok());
  const auto done = retention.apply(pass_of(place));
  ASSERT_TRUE(done.ok());
  EXPECT_EQ(done->removed, 6u);
  EXPECT_EQ(done->left, 1u);
}

}  // namespace
}  // namespace pawl::runtime
