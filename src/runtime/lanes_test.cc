// Lanes: what is remembered of a lane, and how long.
#include "runtime/lanes.h"

#include <memory>
#include <set>

#include "runtime/rooms_bench.h"

namespace pawl::runtime {
namespace {

using std::chrono::seconds;

class LanesTest : public ::testing::Test {
 protected:
  static constexpr core::LaneId one = RoomsBench::one;
  static constexpr core::LaneId two = RoomsBench::two;
  // Something that is remembered of the lane; it shows when the memory is freed.
  std::weak_ptr<const core::Bundle> remember(OwnedLane& lane) {
    auto bundle = std::make_shared<const core::Bundle>();
    lane.unread[core::make_run(lane.id, 1)].uncertain = bundle;
    return bundle;
  }
  RoomsBench bench_;
  Lanes& lanes_ = bench_.parts.lanes;
};

TEST_F(LanesTest, those_that_are_ours_are_found_in_their_order) {
  EXPECT_EQ(lanes_.mine(one), nullptr);
  OwnedLane& second = bench_.own(two);
  OwnedLane& first = bench_.own(one);
  EXPECT_EQ(lanes_.mine(one), &first);
  EXPECT_EQ(lanes_.mine(core::make_run(two, 5)), &second);
  EXPECT_EQ(lanes_.all_mine(), (std::vector{&first, &second}));
}

TEST_F(LanesTest, one_whose_time_is_over_is_not_ours_though_it_is_remembered) {
  OwnedLane& first = bench_.own(one);
  bench_.clock.advance(RoomsBench::lease / 2);
  OwnedLane& second = bench_.own(two);
  bench_.clock.advance(RoomsBench::lease / 2);
  EXPECT_EQ(lanes_.mine(one), nullptr);
  EXPECT_EQ(lanes_.memory_of(one), &first);
  EXPECT_EQ(lanes_.all_mine(), std::vector{&second});
  lanes_.table().renewed(one, bench_.clock.monotonic());
  EXPECT_EQ(lanes_.mine(one), &first) << "a renewal came in time after all";
}

TEST_F(LanesTest, one_that_is_forgotten_is_not_found_and_its_memory_is_freed_at_the_next_turn) {
  OwnedLane& lane = bench_.own(one);
  const auto memory = remember(lane);
  lanes_.forget(one);
  EXPECT_EQ(lanes_.mine(one), nullptr);
  EXPECT_EQ(lanes_.memory_of(one), nullptr);
  EXPECT_EQ(lanes_.all_mine(), std::vector<OwnedLane*>{});
  EXPECT_FALSE(memory.expired()) << "somebody further up may still hold a reference";
  lanes_.end_turn();
  EXPECT_TRUE(memory.expired());
  lanes_.forget(one);  // nothing is left to forget
}

TEST_F(LanesTest, one_that_is_taken_again_has_another_epoch_and_remembers_nothing) {
  OwnedLane& before = bench_.own(one);
  const core::Epoch epoch = before.epoch;
  const std::uint64_t number = before.number;
  const auto memory = remember(before);
  before.due_again.push_back(store::Due{});
  before.giving = true;
  bench_.clock.advance(seconds(1));
  OwnedLane& after = bench_.own(one);
  EXPECT_GT(after.epoch, epoch);
  EXPECT_NE(after.number, number) << "an answer to who had it before is not for this one";
  EXPECT_TRUE(after.unread.empty());
  EXPECT_TRUE(after.due_again.empty());
  EXPECT_FALSE(after.giving);
  EXPECT_EQ(after.due.since(), bench_.clock.now());
  EXPECT_EQ(lanes_.all_mine(), std::vector{&after});
  lanes_.end_turn();
  EXPECT_TRUE(memory.expired());
}

TEST_F(LanesTest, a_number_is_never_that_of_another_lane_or_time) {
  std::set<std::uint64_t> numbers;
  for (int i = 0; i < 3; ++i)
    for (const core::LaneId lane : {one, two}) numbers.insert(bench_.own(lane).number);
  EXPECT_EQ(numbers.size(), 6u);
}

// The wall clock may be set: that must not extend the time for which the engine acts for a lane.
TEST(lanes, expire_by_the_monotonic_clock) {
  class SetClock final : public Clock {
   public:
    Instant now() const override { return wall; }
    Duration monotonic() const override { return steady; }
    Instant wall = Instant::from_micros(1'000'000'000'000);
    Duration steady{0};
  };
  SetClock clock;
  Lanes lanes(store::PoolInfo{core::LaneId(1), 1, Pool("graphs")}, RoomsBench::lease, clock);
  lanes.table().acquired(core::LaneId(1), core::Epoch(1), clock.steady, true);
  lanes.take(core::LaneId(1), core::Epoch(1));
  clock.wall = clock.wall + std::chrono::hours(1);
  EXPECT_NE(lanes.mine(core::LaneId(1)), nullptr);
  EXPECT_EQ(lanes.all_mine().size(), 1u);
  clock.wall = clock.wall - std::chrono::hours(2);
  clock.steady = RoomsBench::lease;
  EXPECT_EQ(lanes.mine(core::LaneId(1)), nullptr);
  EXPECT_EQ(lanes.all_mine().size(), 0u);
}

class LostLaneTest : public LanesTest {
 protected:
  LostLaneTest() {
    bench_.deploy(GraphBuilder("step").trigger("t").worker("a", "work").after("t"));
    bench_.own(one);
    bench_.own(two);
    bench_.parts.workshop.serve(Topic("work"));
    bench_.parts.workshop.add_slots(4);
    bench_.turn();
  }
};

TEST_F(LostLaneTest, takes_all_that_was_remembered_with_it_and_leaves_the_others) {
  for (const core::LaneId lane : {one, two}) bench_.submit("step", lane);
  bench_.settle_all();
  const auto memory = remember(*lanes_.mine(one));
  ASSERT_EQ(bench_.parts.jobs.size(), 2u);
  bench_.parts.lane_lost(one);
  EXPECT_EQ(lanes_.memory_of(one), nullptr);
  EXPECT_EQ(bench_.parts.jobs.size(), 1u) << "its jobs";
  EXPECT_NE(lanes_.mine(two), nullptr);
  lanes_.end_turn();
  EXPECT_TRUE(memory.expired());
}

// When the job is read again, it is decided again: a second bundle for the same rev must not meet the first.
TEST_F(LostLaneTest, takes_what_was_not_sent_out_of_the_group) {
  for (const core::LaneId lane : {one, two}) bench_.submit("step", lane);
  bench_.parts.jobs.decide_ready();
  ASSERT_EQ(bench_.parts.outgoing.waiting(), 2u);
  ASSERT_EQ(bench_.parts.workshop.free_slots(), 2u);
  bench_.parts.lane_lost(one);
  EXPECT_EQ(bench_.parts.outgoing.waiting(), 1u);
  EXPECT_EQ(bench_.parts.workshop.free_slots(), 3u);
  bench_.settle_all();
  ASSERT_EQ(bench_.events.work.size(), 1u);
  EXPECT_EQ(core::lane_of(bench_.events.work.front().run), two);
}

TEST_F(LostLaneTest, that_another_took_is_noticed_by_the_first_bundle_that_is_fenced) {
  const RunId run = bench_.submit("step", one);
  ASSERT_TRUE(bench_.commit(store::ReleaseLane{one, lanes_.mine(one)->epoch}).done());
  ASSERT_TRUE(bench_.commit(store::AcquireLane{one, "e2", RoomsBench::lease}).done());
  bench_.settle_all();
  EXPECT_EQ(lanes_.mine(one), nullptr);
  EXPECT_FALSE(lanes_.table().owns(one, bench_.clock.monotonic()));
  EXPECT_NE(lanes_.mine(two), nullptr);
  EXPECT_EQ(bench_.parts.jobs.find(run), nullptr);
  EXPECT_TRUE(bench_.events.work.empty());
  EXPECT_TRUE((*bench_.store.read_job(run))->state.work().empty()) << "nothing of it was committed";
}

}  // namespace
}  // namespace pawl::runtime
