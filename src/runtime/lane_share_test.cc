// Shares of lanes: each property over random pools, engines and holdings.
#include "runtime/lane_share.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/format.h"
#include "base/random.h"

namespace pawl::runtime {

namespace {

using store::EngineInfo;

// Engines and what they hold, in a pool whose lanes do not begin at 1.
struct Pooled {
  store::PoolInfo pool{core::LaneId(7), 0, Pool("p")};
  std::vector<EngineInfo> engines;

  core::LaneId lane(std::uint32_t index) const { return core::LaneId(pool.first.raw() + index); }
  std::size_t staying() const {
    return static_cast<std::size_t>(
        std::count_if(engines.begin(), engines.end(), [](const auto& e) { return !e.leaving; }));
  }
  LaneShare of(const EngineInfo& engine) const { return lane_share(engine.name, engines, pool); }

  // Each engine does what it should, by the same reports. Returns how many lanes moved.
  std::size_t round() {
    std::vector<LaneShare> shares;
    for (const EngineInfo& engine : engines) shares.push_back(of(engine));
    std::size_t moved = 0;
    for (std::size_t i = 0; i < engines.size(); ++i) {
      auto& holds = engines[i].holds;
      moved += shares[i].give;
      holds.erase(holds.end() - static_cast<std::ptrdiff_t>(shares[i].give), holds.end());
      holds.insert(holds.end(), shares[i].take.begin(), shares[i].take.end());
    }
    return moved;
  }
};

Pooled draw(Random& random) {
  Pooled drawn;
  drawn.pool.lanes = 1 + static_cast<std::uint32_t>(random.below(20));
  const std::uint64_t count = 1 + random.below(6);
  for (std::uint64_t i = 0; i < count; ++i)
    drawn.engines.push_back({format("e{}", i), {}, {}, {}, random.below(6) == 0});
  for (std::uint32_t i = 0; i < drawn.pool.lanes; ++i)
    if (random.below(4) != 0) drawn.engines[random.below(count)].holds.push_back(drawn.lane(i));
  return drawn;
}

// The fewest lanes that must leave their holder, over all assignments of the larger shares.
std::size_t fewest_moves(const Pooled& drawn) {
  const std::size_t lanes = drawn.pool.lanes;
  const std::size_t staying = drawn.staying();
  std::size_t fewest = lanes + 1;
  for (std::uint32_t larger = 0; larger < (1u << drawn.engines.size()); ++larger) {
    std::size_t number = 0, moves = 0;
    bool fits = true;
    for (std::size_t i = 0; i < drawn.engines.size(); ++i) {
      const bool has_larger = (larger >> i & 1) != 0;
      if (has_larger && drawn.engines[i].leaving) fits = false;
      number += has_larger ? 1 : 0;
      if (drawn.engines[i].leaving) continue;
      const std::size_t share = lanes / staying + (has_larger ? 1 : 0);
      moves += drawn.engines[i].holds.size() > share ? drawn.engines[i].holds.size() - share : 0;
    }
    if (fits && number == lanes % staying) fewest = std::min(fewest, moves);
  }
  return fewest;
}

constexpr std::uint64_t pools_drawn = 3000;

TEST(LaneShare, a_free_lane_is_for_exactly_one_engine_and_a_held_one_for_none) {
  for (std::uint64_t seed = 0; seed < pools_drawn; ++seed) {
    Random random(seed);
    const Pooled drawn = draw(random);
    std::set<core::LaneId> held, taken;
    for (const EngineInfo& engine : drawn.engines) held.insert(engine.holds.begin(), engine.holds.end());
    for (const EngineInfo& engine : drawn.engines)
      for (const core::LaneId lane : drawn.of(engine).take) {
        EXPECT_FALSE(held.contains(lane)) << "seed " << seed;
        EXPECT_TRUE(taken.insert(lane).second) << "seed " << seed;
        EXPECT_FALSE(engine.leaving) << "seed " << seed;
      }
  }
}

TEST(LaneShare, no_more_moves_than_must_whatever_was_held) {
  std::size_t moved = 0;
  for (std::uint64_t seed = 0; seed < pools_drawn; ++seed) {
    Random random(seed);
    const Pooled drawn = draw(random);
    if (drawn.staying() == 0) continue;
    std::size_t give = 0;
    for (const EngineInfo& engine : drawn.engines) give += drawn.of(engine).give;
    ASSERT_EQ(give, fewest_moves(drawn)) << "seed " << seed;
    moved += give;
  }
  EXPECT_GT(moved, pools_drawn / 5);
}

TEST(LaneShare, two_rounds_without_leavers_end_in_shares_that_differ_by_one_and_rest_there) {
  for (std::uint64_t seed = 0; seed < pools_drawn; ++seed) {
    Random random(seed);
    Pooled drawn = draw(random);
    for (EngineInfo& engine : drawn.engines) engine.leaving = false;
    drawn.round();  // surplus is given back, free lanes are taken
    drawn.round();  // and what was given back is taken
    std::size_t least = drawn.pool.lanes, most = 0, all = 0;
    for (const EngineInfo& engine : drawn.engines) {
      least = std::min(least, engine.holds.size());
      most = std::max(most, engine.holds.size());
      all += engine.holds.size();
      const LaneShare rest = drawn.of(engine);
      EXPECT_TRUE(rest.take.empty() && rest.give == 0) << "seed " << seed;
    }
    EXPECT_EQ(all, drawn.pool.lanes) << "seed " << seed;
    EXPECT_LE(most, least + 1) << "seed " << seed;
  }
}

TEST(LaneShare, who_joins_moves_its_own_share_and_no_more) {
  for (std::uint32_t lanes = 1; lanes <= 16; ++lanes)
    for (std::size_t before = 1; before <= 4; ++before) {
      Pooled pooled;
      pooled.pool.lanes = lanes;
      for (std::size_t i = 0; i < before; ++i) pooled.engines.push_back({format("e{}", i), {}, {}, {}});
      pooled.round();
      pooled.engines.push_back({"joins", {}, {}, {}});
      EXPECT_EQ(pooled.round(), lanes / (before + 1));
      EXPECT_EQ(pooled.round(), 0u);
      EXPECT_EQ(pooled.engines.back().holds.size(), lanes / (before + 1));
    }
}

TEST(LaneShare, what_a_dead_engine_leaves_is_taken_and_nothing_else_moves) {
  for (std::uint32_t lanes = 1; lanes <= 16; ++lanes)
    for (std::size_t before = 2; before <= 5; ++before) {
      Pooled pooled;
      pooled.pool.lanes = lanes;
      for (std::size_t i = 0; i < before; ++i) pooled.engines.push_back({format("e{}", i), {}, {}, {}});
      pooled.round();
      pooled.engines.erase(pooled.engines.begin());
      EXPECT_EQ(pooled.round(), 0u) << "nothing that is held moves";
      std::size_t all = 0;
      for (const EngineInfo& engine : pooled.engines) all += engine.holds.size();
      EXPECT_EQ(all, lanes);
    }
}

TEST(LaneShare, a_leaving_engine_keeps_what_it_has_and_takes_nothing) {
  Pooled pooled;
  pooled.pool.lanes = 4;
  pooled.engines = {{"a", {}, {pooled.lane(0), pooled.lane(1)}, {}}, {"b", {}, {pooled.lane(2)}, {}, true}};
  EXPECT_EQ(pooled.of(pooled.engines[0]).take, std::vector<core::LaneId>{pooled.lane(3)});
  EXPECT_TRUE(pooled.of(pooled.engines[1]).take.empty());
  EXPECT_EQ(pooled.of(pooled.engines[1]).give, 0u);
}

TEST(LaneShare, an_engine_that_nobody_knows_has_none) {
  Pooled pooled;
  pooled.pool.lanes = 4;
  pooled.engines = {{"a", {}, {}, {}}};
  EXPECT_TRUE(lane_share("stranger", pooled.engines, pooled.pool).take.empty());
  EXPECT_TRUE(lane_share("a", {}, pooled.pool).take.empty());
}

TEST(LaneShare, lanes_of_another_pool_and_lanes_that_two_claim_count_once) {
  Pooled pooled;
  pooled.pool.lanes = 2;
  const core::LaneId elsewhere(pooled.pool.first.raw() + 2);
  pooled.engines = {{"a", {}, {pooled.lane(0), elsewhere}, {}}, {"b", {}, {pooled.lane(0)}, {}}};
  EXPECT_EQ(pooled.of(pooled.engines[0]).give, 0u);
  EXPECT_EQ(pooled.of(pooled.engines[1]).take, std::vector<core::LaneId>{pooled.lane(1)});
}

}  // namespace

}  // namespace pawl::runtime
