// Engines that know of each other through the store.
#include "store/conformance/conformance.h"

namespace pawl::store {

namespace {

class Beats : public StoreTest {
 protected:
  BeatEngine beat_of(const std::string& name) const {
    BeatEngine beat;
    beat.pool = Pool("graphs");
    beat.name = name;
    beat.lease = lease;
    return beat;
  }
  BeatEngine beat_of(const std::string& name, std::vector<core::LaneId> holds) const {
    BeatEngine beat = beat_of(name);
    beat.holds = std::move(holds);
    return beat;
  }
  // The engines that are alive, as `name` learns it.
  std::vector<std::string> heard_by(const std::string& name) {
    std::vector<std::string> names;
    for (const EngineInfo& engine : commit(beat_of(name)).engines()) names.push_back(engine.name);
    return names;
  }
  using Names = std::vector<std::string>;
};

TEST_P(Beats, an_engine_hears_of_all_that_live_by_name) {
  EXPECT_EQ(heard_by("b"), Names{"b"});
  EXPECT_EQ(heard_by("c"), (Names{"b", "c"}));
  EXPECT_EQ(heard_by("a"), (Names{"a", "b", "c"}));
}

TEST_P(Beats, what_an_engine_says_of_itself_is_what_others_hear) {
  BeatEngine said = beat_of("a", {lane_, other_lane_});
  said.serves = {Topic("pay"), Topic("ship")};
  said.leaving = true;
  EXPECT_EQ(kind_of(said), OutcomeKind::committed);
  const Outcome heard = commit(beat_of("b", {}));
  ASSERT_EQ(heard.engines().size(), 2u);
  const EngineInfo expected{"a", clock_.now() + lease, {lane_, other_lane_}, {Topic("pay"), Topic("ship")}, true};
  EXPECT_EQ(heard.engines()[0], expected);
  EXPECT_EQ(heard.engines()[1], (EngineInfo{"b", clock_.now() + lease, {}, {}, false}));
}

TEST_P(Beats, an_engine_is_dead_exactly_when_its_lease_is_over) {
  heard_by("a");
  clock_.advance(lease - Duration(1));
  EXPECT_EQ(heard_by("b"), (Names{"a", "b"}));
  clock_.advance(Duration(1));
  EXPECT_EQ(heard_by("b"), Names{"b"});
}

TEST_P(Beats, a_beat_counts_from_now) {
  heard_by("a");
  clock_.advance(lease - Duration(1));
  heard_by("a");
  clock_.advance(lease - Duration(1));
  EXPECT_EQ(heard_by("b"), (Names{"a", "b"}));
}

TEST_P(Beats, an_engine_that_comes_back_finds_what_it_held) {
  EXPECT_EQ(kind_of(beat_of("a", {other_lane_})), OutcomeKind::committed);
  const Outcome back = commit(beat_of("a"));
  ASSERT_EQ(back.engines().size(), 1u);
  EXPECT_EQ(back.engines()[0].holds, std::vector<core::LaneId>{other_lane_});
  EXPECT_TRUE(commit(beat_of("a", {})).engines()[0].holds.empty());
}

TEST_P(Beats, an_engine_that_leaves_is_gone_at_once) {
  heard_by("a");
  EXPECT_EQ(kind_of(LeaveEngine{Pool("graphs"), "a"}), OutcomeKind::committed);
  EXPECT_EQ(kind_of(LeaveEngine{Pool("graphs"), "a"}), OutcomeKind::already_done);
  EXPECT_EQ(heard_by("b"), Names{"b"});
}

TEST_P(Beats, engines_of_another_pool_are_not_heard) {
  EXPECT_EQ(kind_of(OpenPool{Pool("flows"), 1}), OutcomeKind::committed);
  heard_by("a");
  BeatEngine other = beat_of("b");
  other.pool = Pool("flows");
  const Outcome heard = commit(other);
  ASSERT_EQ(heard.engines().size(), 1u);
  EXPECT_EQ(heard.engines()[0].name, "b");
  clock_.advance(lease);
  EXPECT_EQ(commit(other).engines().size(), 1u);
}

TEST_P(Beats, a_beat_says_nothing_about_who_has_a_lane) {
  EXPECT_EQ(kind_of(beat_of("b", {lane_})), OutcomeKind::committed);
  EXPECT_EQ(store_->read_lane(lane_)->owner, "engine-a");
  EXPECT_EQ(store_->read_lane(lane_)->epoch, epoch_);
}

TEST_P(Beats, what_is_out_of_bounds_is_rejected_and_leaves_nothing) {
  BeatEngine nowhere = beat_of("a");
  nowhere.pool = Pool("nobody");
  BeatEngine endless = beat_of("a");
  endless.lease = Duration{0};
  BeatEngine greedy = beat_of("a", std::vector<core::LaneId>(limits::lanes_per_pool_max + 1, lane_));
  BeatEngine busy = beat_of("a");
  busy.serves.assign(limits::engine_topics_max + 1, Topic("t"));
  for (const BeatEngine& beat :
       {nowhere, endless, greedy, busy, beat_of(""), beat_of(std::string(limits::name_bytes_max + 1, 'a'))})
    EXPECT_EQ(kind_of(beat), OutcomeKind::rejected);
  EXPECT_EQ(kind_of(LeaveEngine{Pool("graphs"), ""}), OutcomeKind::rejected);
  EXPECT_EQ(heard_by("b"), Names{"b"});
}

TEST_P(Beats, a_pool_is_read_with_its_name) { EXPECT_EQ((*store_->read_pool(Pool("graphs")))->pool, Pool("graphs")); }

INSTANTIATE_TEST_SUITE_P(stores, Beats, testing::ValuesIn(all_stores()), store_name);
INSTANTIATE_TEST_SUITE_P(islands, Beats, testing::ValuesIn(island_stores()), store_name);

}  // namespace

}  // namespace pawl::store
