// An engine notifies the owner of a lane of what it committed there.
#include <gtest/gtest.h>

#include "runtime/engine_bench.h"

namespace pawl::runtime {

namespace {

// Another engine has both lanes.
class Guest : public testing::Test {
 protected:
  Guest() : bench_(core::Fusion::on) {
    std::vector<store::Operation> taken;
    for (const std::uint32_t lane : {1u, 2u})
      taken.push_back(store::AcquireLane{core::LaneId(lane), "other", std::chrono::hours(1)});
    EXPECT_TRUE(bench_.store.commit(taken).ok());
    bench_.deploy(GraphBuilder("g").trigger("t").worker("a", "work").after("t").build());
    bench_.settle();
    EXPECT_FALSE(bench_.engine->owns_anything());
    bench_.events.rings.clear();  // the notification of its start
  }
  RunId submit() {
    bench_.submit("j", "g");
    bench_.settle();
    return **bench_.store.find_run(default_namespace(), JobId("j"));
  }
  Bench bench_;
};

TEST_F(Guest, a_submit_to_a_lane_of_another_engine_rings_there_and_names_the_run) {
  const RunId run = submit();
  ASSERT_EQ(bench_.events.rings.size(), 1u);
  store::Change named;
  named.add(run);
  EXPECT_EQ(bench_.events.rings[0], std::pair(core::lane_of(run), named));
}

TEST_F(Guest, a_message_rings_for_the_run_that_it_is_for) {
  const RunId run = submit();
  bench_.events.rings.clear();
  bench_.ask("j", core::Pause{"wait"});
  ASSERT_EQ(bench_.events.rings.size(), 1u);
  EXPECT_EQ(bench_.events.rings[0].second.runs, std::vector{run});
}

TEST_F(Guest, what_concerns_all_lanes_rings_everywhere) {
  bench_.engine->request(store::PauseTopic{Topic("work"), true}, 7);
  bench_.settle();
  ASSERT_EQ(bench_.events.rings.size(), 1u);
  EXPECT_EQ(bench_.events.rings[0].first, core::LaneId(0));
  EXPECT_TRUE(bench_.events.rings[0].second.topics);
}

TEST(Owner, says_once_that_it_came) {
  Bench bench(core::Fusion::on);
  bench.settle();
  for (int beats = 0; beats < 5; ++beats) {
    bench.clock.advance(bench.lease / 3);
    bench.engine->tick();
    bench.settle();
  }
  ASSERT_EQ(bench.events.rings.size(), 1u);
  EXPECT_TRUE(bench.events.rings[0].second.lanes);
}

TEST(Owner, does_not_ring_for_its_own_lanes_until_it_gives_them_back) {
  Bench bench(core::Fusion::on);
  bench.deploy(GraphBuilder("g").trigger("t").worker("a", "work").after("t").build());
  bench.settle();
  bench.events.rings.clear();
  bench.submit("j", "g");
  bench.run([](const core::WorkItem& item) { return reply(item); });
  EXPECT_TRUE(bench.events.rings.empty());
  bench.engine->stop();
  bench.engine->release_lanes();
  bench.settle();
  ASSERT_EQ(bench.events.rings.size(), 3u) << "two lanes, and that it is gone";
  for (const auto& [lane, change] : bench.events.rings) EXPECT_TRUE(change.lanes);
}

TEST(Owner, hears_that_lanes_are_free_and_asks_who_lives) {
  Bench bench(core::Fusion::on);
  bench.settle();
  store::Change free;
  free.lanes = true;
  bench.engine->changed(free);
  bench.engine->tick();
  const auto group = bench.engine->take_group();
  ASSERT_TRUE(group);
  EXPECT_TRUE(std::holds_alternative<store::BeatEngine>(group->operations.front()));
}

}  // namespace

}  // namespace pawl::runtime
