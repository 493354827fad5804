// The first half of a random history is played in one store, the second half in the store it was moved to: the answers
// and reads are those of a memory store that played all of it.
#include <algorithm>

#include "store/conformance/history.h"
#include "store/memory/store.h"
#include "store/transfer/kinds_test.h"

namespace pawl::store::transfer {

namespace {

constexpr int steps_before = 250;
constexpr int steps_after = 100;
constexpr int steps_between_reads = 50;
constexpr Duration lease = std::chrono::seconds(30);

using Pair = std::tuple<Kind, Kind>;

class MovedHistories : public testing::TestWithParam<Pair> {
 protected:
  static void commit(Store& store, const Operation& operation) {
    const auto outcomes = store.commit({&operation, 1});
    ASSERT_TRUE(outcomes) << to_string(outcomes.error());
  }
  static void take_lanes(Store& store) {
    for (std::uint32_t lane = 1; lane <= 2; ++lane) commit(store, AcquireLane{core::LaneId(lane), "engine-a", lease});
  }
  // As when its engines stop.
  static void stop(Store& store) {
    for (std::uint32_t lane = 1; lane <= 2; ++lane) {
      const auto info = store.read_lane(core::LaneId(lane));
      ASSERT_TRUE(info);
      commit(store, ReleaseLane{core::LaneId(lane), info->epoch});
    }
    for (int i = 0; i < 3; ++i) commit(store, LeaveEngine{Pool("graphs"), format("engine-{}", i)});
  }
  static void play(History& expected, History& played, int steps) {
    for (int step = 0; step < steps; ++step) {
      ASSERT_EQ(expected.step(), played.step()) << "step " << step;
      if (step % steps_between_reads == 0) {
        ASSERT_EQ(expected.read_back(), played.read_back()) << "step " << step;
      }
    }
  }
};

TEST_P(MovedHistories, go_on_as_if_nothing_had_happened) {
  const auto [from_kind, to_kind] = GetParam();
  const auto from = make_home(from_kind);
  const auto to = make_home(to_kind);
  ManualClock clock;
  ManualClock other_clock;
  memory::Store reference(other_clock);
  auto opened = from->open(clock);
  ASSERT_TRUE(opened) << to_string(opened.error());
  for (Store* store : {static_cast<Store*>(&reference), opened->get()}) {
    commit(*store, OpenPool{Pool("graphs"), 2});
    take_lanes(*store);
  }
  // Lanes of a file are held until they are given back.
  const bool by_clock = from_kind != Kind::sqlite && to_kind != Kind::sqlite;
  const std::uint64_t seed = 1 + static_cast<std::uint64_t>(from_kind) * 4 + static_cast<std::uint64_t>(to_kind);
  const HistoryOptions options{seed, "default", by_clock, true};
  History expected(reference, other_clock, core::LaneId(1), options);
  {
    History played(**opened, clock, core::LaneId(1), options);
    ASSERT_NO_FATAL_FAILURE(play(expected, played, steps_before));
    stop(reference);
    stop(**opened);
    ASSERT_EQ(expected.read_back(), played.read_back());
    opened->reset();
    const auto moved = move_between(*from, *to, clock);
    ASSERT_TRUE(moved) << to_string(moved.error());
    EXPECT_FALSE(from->open(clock));

    auto copy = to->open(clock);
    ASSERT_TRUE(copy) << to_string(copy.error());
    take_lanes(reference);
    take_lanes(**copy);
    History expected_on(reference, expected);
    History played_on(**copy, played);
    ASSERT_EQ(expected_on.read_back(), played_on.read_back());
    ASSERT_NO_FATAL_FAILURE(play(expected_on, played_on, steps_after));
    EXPECT_EQ(expected_on.read_back(), played_on.read_back());
  }
}

std::string pair_name(const testing::TestParamInfo<Pair>& info) {
  return name_of(std::get<0>(info.param)) + "_to_" + name_of(std::get<1>(info.param));
}
INSTANTIATE_TEST_SUITE_P(pairs, MovedHistories,
                         testing::Combine(testing::ValuesIn(all_kinds()), testing::ValuesIn(all_kinds())), pair_name);

}  // namespace

}  // namespace pawl::store::transfer
