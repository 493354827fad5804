// Engines that share the lanes of a pool: what they ask for, and how they give back.
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "execute/test_graph.h"
#include "runtime/engine_bench.h"

namespace pawl::runtime {

namespace {

constexpr Duration lease = std::chrono::seconds(10);

// Engines over one store, each with its own workers; they share the clock.
class SharedPool : public testing::Test {
 protected:
  struct Member {
    Recorder events;
    std::unique_ptr<Engine> engine;
  };

  SharedPool() {
    const store::Operation open = store::OpenPool{Pool("graphs"), 4};
    EXPECT_TRUE(store_.commit({&open, 1}).ok());
    EXPECT_TRUE(
        graphs_.add(std::move(*execute::graph_of(GraphBuilder("g").trigger("t").worker("a", "work").after("t")))).ok());
  }
  void join(const std::string& name, Duration its_lease = lease) {
    Member& member = members_[name];
    EngineOptions options;
    options.name = name;
    options.seed = members_.size();
    options.lease = its_lease;
    member.engine =
        std::make_unique<Engine>(options, **store_.read_pool(Pool("graphs")), store_, clock_, graphs_, member.events);
    member.engine->serve(Topic("work"));
    member.engine->add_slots(10);
  }
  Engine& engine(const std::string& name) { return *members_.at(name).engine; }
  // Every engine does what it can at this moment.
  void settle() {
    for (bool moved = true; moved;) {
      moved = false;
      for (auto& [name, member] : members_) {
        member.engine->tick();
        member.engine->pump();
        while (auto group = member.engine->take_group()) {
          for (const store::Operation& operation : group->operations)
            beats_ += std::holds_alternative<store::BeatEngine>(operation) ? 1 : 0;
          auto result = store_.commit(group->operations);
          member.engine->finished(std::move(*group), std::move(result));
          member.engine->pump();
          moved = true;
        }
      }
    }
  }
  void wait(Duration time) {
    for (const Duration end = clock_.monotonic() + time; clock_.monotonic() < end;) {
      clock_.advance(lease / 100);
      settle();
    }
  }
  std::size_t lanes_of(const std::string& name) { return engine(name).owned_lanes().size(); }
  // One job in every lane, each with unanswered work.
  void submit_everywhere(const std::string& at) {
    std::set<core::LaneId> lanes;
    for (int i = 0; lanes.size() < 4; ++i) {
      const std::string id = "j" + std::to_string(i);
      if (!lanes.insert(engine(at).lane_for(default_namespace(), id)).second) continue;
      engine(at).submit(SubmitRequest{default_namespace(), JobId(id), GraphName("g"), "{}",
                                      core::JobSecret(core::Guid{1, static_cast<std::uint64_t>(i)})},
                        1);
    }
    settle();
  }
  void answer_all(const std::string& name) {
    Member& member = members_.at(name);
    for (const core::WorkItem& item : std::exchange(member.events.work, {})) member.engine->answer(reply(item));
    settle();
  }

  ManualClock clock_;
  GraphCatalog graphs_;
  store::memory::Store store_{clock_};
  std::map<std::string, Member> members_;
  std::size_t beats_ = 0;
};

TEST_F(SharedPool, one_engine_has_all_lanes_at_once) {
  join("a");
  settle();
  EXPECT_EQ(lanes_of("a"), 4u);
}

TEST_F(SharedPool, a_second_engine_gets_its_half_within_a_lease) {
  join("a");
  settle();
  join("b");
  wait(lease);
  EXPECT_EQ(lanes_of("a"), 2u);
  EXPECT_EQ(lanes_of("b"), 2u);
}

TEST_F(SharedPool, what_an_engine_that_leaves_had_is_taken_within_a_lease) {
  join("a");
  join("b");
  wait(lease);
  engine("b").stop();
  settle();
  ASSERT_TRUE(engine("b").drained());
  engine("b").release_lanes();
  settle();
  members_.erase("b");
  wait(lease);
  EXPECT_EQ(lanes_of("a"), 4u);
}

TEST_F(SharedPool, what_a_dead_engine_had_is_taken_soon_after_its_lease) {
  join("a");
  join("b");
  wait(lease);
  members_.erase("b");
  wait(lease + lease / 5);
  EXPECT_EQ(lanes_of("a"), 4u);
}

TEST_F(SharedPool, a_lane_is_given_back_when_its_work_is_done_and_not_before) {
  join("a");
  settle();
  submit_everywhere("a");
  ASSERT_EQ(members_.at("a").events.work.size(), 4u);
  join("b");
  wait(lease * 2);
  EXPECT_EQ(lanes_of("a"), 4u) << "every lane has work under way";
  EXPECT_TRUE(members_.at("a").events.cancelled.empty());
  answer_all("a");
  wait(lease);
  EXPECT_EQ(lanes_of("a"), 2u);
  EXPECT_EQ(lanes_of("b"), 2u);
  EXPECT_EQ(members_.at("a").events.ended.size() + members_.at("b").events.ended.size(), 4u);
  EXPECT_TRUE(members_.at("b").events.work.empty()) << "nothing runs a second time";
}

TEST_F(SharedPool, a_lane_that_cannot_be_given_back_is_served_meanwhile) {
  join("a");
  settle();
  submit_everywhere("a");
  join("b");
  wait(lease);
  const auto first = members_.at("a").events.work.front();
  members_.at("a").events.work.clear();
  engine("a").submit(
      SubmitRequest{default_namespace(), JobId("later"), GraphName("g"), "{}", core::JobSecret(core::Guid{2, 2})}, 1);
  wait(lease / 2);
  EXPECT_EQ(members_.at("a").events.work.size(), 1u) << "the new job's work";
  EXPECT_NE(members_.at("a").events.work.front().run, first.run);
}

TEST_F(SharedPool, engines_at_rest_beat_three_times_in_a_lease) {
  join("a");
  join("b");
  wait(lease * 2);
  beats_ = 0;
  wait(lease);
  EXPECT_GE(beats_, 6u);
  EXPECT_LE(beats_, 8u);
}

TEST_F(SharedPool, without_a_lease_nobody_beats_and_nothing_is_due) {
  join("a", Duration{0});
  settle();
  EXPECT_EQ(lanes_of("a"), 4u);
  EXPECT_EQ(beats_, 0u);
  EXPECT_EQ(engine("a").next_wake(), std::nullopt);
}

}  // namespace

}  // namespace pawl::runtime
