// LaneTable: what is sent to the store and when, and how long the engine may act for a lane.
#include "runtime/lane_table.h"

#include <gtest/gtest.h>

namespace pawl::runtime {
namespace {

using std::chrono::seconds;

constexpr Duration lease = seconds(30);
constexpr Duration usable = seconds(27);  // a tenth of the lease is left for differences between clocks
constexpr Duration renews = seconds(10);
constexpr core::LaneId one{1};
constexpr core::LaneId two{2};
constexpr Duration start = seconds(1000);

class LaneTableTest : public ::testing::Test {
 protected:
  explicit LaneTableTest(Duration its_lease = lease) : table_(store::PoolInfo{one, 2, Pool("graphs")}, its_lease) {}
  // What is sent now, as lanes.
  template <class Kind>
  std::vector<core::LaneId> asked(Duration at, LaneTable::Wants wants = LaneTable::Wants::everything) {
    std::vector<core::LaneId> lanes;
    for (const store::Operation& operation : table_.due("e1", at, wants))
      if (const auto* kind = std::get_if<Kind>(&operation))
        lanes.push_back(kind->lane);
      else
        ADD_FAILURE() << "something else is asked";
    return lanes;
  }
  void take(core::LaneId lane, Duration at, core::Epoch epoch = core::Epoch(7)) {
    table_.want({lane});
    EXPECT_EQ(asked<store::AcquireLane>(at), Lanes{lane});
    table_.acquired(lane, epoch, at, true);
  }
  using Lanes = std::vector<core::LaneId>;
  LaneTable table_;
};

TEST_F(LaneTableTest, asks_for_what_is_wanted_once) {
  EXPECT_EQ(asked<store::AcquireLane>(start), Lanes{}) << "with a lease nothing is wanted at first";
  EXPECT_EQ(table_.next_due(), std::nullopt);
  table_.want({two});
  EXPECT_EQ(asked<store::AcquireLane>(start), Lanes{two});
  EXPECT_TRUE(table_.is_asked(two));
  EXPECT_EQ(asked<store::AcquireLane>(start), Lanes{}) << "its answer is on its way";
  EXPECT_EQ(table_.owned_or_asked(start), Lanes{two});
  EXPECT_EQ(table_.owned(start), Lanes{});
}

TEST_F(LaneTableTest, owns_a_lane_until_a_tenth_before_its_lease_ends) {
  take(one, start);
  EXPECT_EQ(table_.epoch(one), core::Epoch(7));
  EXPECT_TRUE(table_.owns(one, start + usable - Duration{1}));
  EXPECT_FALSE(table_.owns(one, start + usable));
  EXPECT_FALSE(table_.owns(two, start));
  EXPECT_FALSE(table_.owns(core::LaneId(99), start)) << "of no pool of ours";
}

TEST_F(LaneTableTest, counts_the_lease_from_the_question_however_late_the_answer_comes) {
  table_.want({one});
  table_.due("e1", start);
  table_.acquired(one, core::Epoch(7), start, true);
  table_.due("e1", start + renews);
  table_.renewed(one, start + renews);  // the reply arrives much later
  EXPECT_TRUE(table_.owns(one, start + renews + usable - Duration{1}));
  EXPECT_FALSE(table_.owns(one, start + renews + usable));
}

TEST_F(LaneTableTest, renews_after_a_third_of_the_lease) {
  take(one, start);
  EXPECT_EQ(table_.next_due(), start + renews);
  EXPECT_EQ(asked<store::RenewLane>(start + renews - Duration{1}), Lanes{});
  const auto operations = table_.due("e1", start + renews);
  ASSERT_EQ(operations.size(), 1u);
  const auto* renew = std::get_if<store::RenewLane>(&operations.front());
  ASSERT_NE(renew, nullptr);
  EXPECT_EQ(renew->epoch, core::Epoch(7));
  EXPECT_EQ(renew->lease, lease);
  EXPECT_EQ(table_.next_due(), std::nullopt) << "one at a time";
  table_.renewed(one, start + renews);
  EXPECT_EQ(table_.next_due(), start + renews * 2);
}

TEST_F(LaneTableTest, renews_what_is_due_soon_with_a_commit_that_is_under_way) {
  take(one, start);
  const Duration soon = start + renews - lease / 6;
  table_.renew_early(soon - Duration{1});
  EXPECT_EQ(asked<store::RenewLane>(soon - Duration{1}), Lanes{});
  table_.renew_early(soon);
  EXPECT_EQ(asked<store::RenewLane>(soon), Lanes{one});
}

TEST_F(LaneTableTest, takes_a_lane_anew_when_its_time_is_over) {
  take(one, start);
  EXPECT_EQ(asked<store::AcquireLane>(start + usable), Lanes{one});
  table_.acquired(one, core::Epoch(8), start + usable, true);
  EXPECT_EQ(table_.epoch(one), core::Epoch(8));
  EXPECT_TRUE(table_.owns(one, start + usable));
}

TEST_F(LaneTableTest, keeps_what_it_has_and_takes_nothing_while_the_engine_stops) {
  take(one, start);
  table_.want({one, two});
  EXPECT_EQ(asked<store::RenewLane>(start + renews, LaneTable::Wants::renewals), Lanes{one});
  table_.renewed(one, start + renews);
  EXPECT_EQ(asked<store::AcquireLane>(start + renews + usable, LaneTable::Wants::renewals), Lanes{});
  EXPECT_EQ(table_.next_due(), std::nullopt) << "nobody wakes for it";
}

TEST_F(LaneTableTest, a_refused_lane_is_asked_for_again_after_a_tenth_of_the_lease) {
  table_.want({one});
  table_.due("e1", start);
  table_.refused(one, start);
  EXPECT_EQ(table_.next_due(), start + lease / 10);
  EXPECT_EQ(asked<store::AcquireLane>(start + lease / 10 - Duration{1}), Lanes{});
  EXPECT_EQ(asked<store::AcquireLane>(start + lease / 10), Lanes{one});
}

TEST_F(LaneTableTest, a_lane_that_was_lost_is_not_owned_any_more) {
  take(one, start);
  table_.lost(one, start + seconds(1));
  EXPECT_FALSE(table_.owns(one, start + seconds(1)));
  EXPECT_EQ(table_.next_due(), start + seconds(1) + lease / 10);
}

// Two requests at once would give it two epochs: the second fences what was decided under the first.
TEST_F(LaneTableTest, a_word_to_ask_again_counts_only_if_the_answer_on_its_way_is_a_refusal) {
  table_.want({one, two});
  table_.due("e1", start);
  table_.ask_again(one);
  table_.ask_again(two);
  EXPECT_EQ(asked<store::AcquireLane>(start), Lanes{});
  table_.acquired(one, core::Epoch(7), start, true);
  table_.refused(two, start);
  EXPECT_EQ(asked<store::AcquireLane>(start), Lanes{two});
  table_.refused(two, start);
  EXPECT_EQ(asked<store::AcquireLane>(start), Lanes{}) << "it was said once";
  table_.lost(one, start);
  EXPECT_EQ(asked<store::AcquireLane>(start), Lanes{}) << "it was said before the lane was taken";
}

TEST_F(LaneTableTest, a_refused_lane_that_is_wanted_anew_is_asked_for_at_once) {
  table_.want({one});
  table_.due("e1", start);
  table_.refused(one, start);
  table_.want({});
  EXPECT_EQ(table_.next_due(), std::nullopt);
  table_.want({one});
  EXPECT_EQ(asked<store::AcquireLane>(start), Lanes{one});
}

TEST_F(LaneTableTest, what_is_given_back_is_not_owned_and_not_asked_for_until_it_is_wanted_again) {
  take(one, start);
  table_.giving_back(one);
  EXPECT_TRUE(table_.is_giving_back(one));
  EXPECT_FALSE(table_.owns(one, start));
  EXPECT_EQ(table_.owned_or_asked(start), Lanes{});
  table_.refused(one, start);  // a renewal that was on its way
  table_.want({one});
  EXPECT_EQ(asked<store::AcquireLane>(start + lease), Lanes{}) << "the store may still take it for ours";
  table_.given_back(one);
  EXPECT_FALSE(table_.is_giving_back(one));
  EXPECT_EQ(asked<store::AcquireLane>(start + lease), Lanes{one});
}

TEST_F(LaneTableTest, what_is_owned_stays_wanted_whatever_else_is) {
  take(one, start);
  table_.want({two});
  EXPECT_EQ(asked<store::AcquireLane>(start), Lanes{two});
  EXPECT_EQ(asked<store::RenewLane>(start + renews), Lanes{one});
}

TEST_F(LaneTableTest, gives_up_what_it_neither_has_nor_wants_nor_asks_for) {
  table_.want({one});
  EXPECT_EQ(table_.given_up(), Lanes{two});
  EXPECT_EQ(asked<store::AcquireLane>(start), Lanes{one});
  table_.want({});
  EXPECT_EQ(table_.given_up(), Lanes{two}) << "it may still get the first one";
  table_.refused(one, start);
  EXPECT_EQ(table_.given_up(), (Lanes{one, two}));
}

class LaneTableWithoutLease : public LaneTableTest {
 protected:
  LaneTableWithoutLease() : LaneTableTest(Duration{0}) {}
};

TEST_F(LaneTableWithoutLease, wants_all_lanes_and_holds_them_for_ever) {
  EXPECT_EQ(asked<store::AcquireLane>(start), table_.all());
  table_.acquired(one, core::Epoch(1), start, false);
  table_.acquired(two, core::Epoch(1), start, false);
  EXPECT_EQ(table_.owned(start + std::chrono::hours(10'000)), (Lanes{one, two}));
  EXPECT_EQ(table_.next_due(), std::nullopt);
  EXPECT_EQ(asked<store::RenewLane>(start + std::chrono::hours(10'000)), Lanes{});
}

TEST_F(LaneTableWithoutLease, asks_for_a_refused_lane_when_somebody_says_so) {
  table_.due("e1", start);
  table_.refused(one, start);
  EXPECT_EQ(table_.next_due(), std::nullopt);
  EXPECT_EQ(asked<store::AcquireLane>(start + std::chrono::hours(1)), Lanes{});
  table_.ask_again(one);
  EXPECT_EQ(asked<store::AcquireLane>(start + std::chrono::hours(1)), Lanes{one});
}

// Stored identity: these must never change.
TEST(lane_for, finds_the_same_lane_for_ever) {
  const store::PoolInfo pool{core::LaneId(5), 1000, Pool("graphs")};
  EXPECT_EQ(lane_for(pool, Namespace("default"), "order-1"), core::LaneId(794));
  EXPECT_EQ(lane_for(pool, Namespace("default"), "order-2"), core::LaneId(350));
  EXPECT_EQ(lane_for(pool, Namespace("other"), "order-1"), core::LaneId(708));
  EXPECT_EQ(lane_for(pool, core::MailboxKey{Namespace("default"), Topic("paid"), "order-1"}), core::LaneId(353));
}

TEST(lane_for, knows_a_run_by_itself_and_a_job_by_its_id) {
  const store::PoolInfo pool{core::LaneId(5), 1000, Pool("graphs")};
  EXPECT_EQ(lane_for(pool, core::make_run(core::LaneId(77), 3)), core::LaneId(77));
  const core::JobKey job{Namespace("default"), JobId("order-1")};
  EXPECT_EQ(lane_for(pool, job), lane_for(pool, Namespace("default"), "order-1"));
}

}  // namespace
}  // namespace pawl::runtime
