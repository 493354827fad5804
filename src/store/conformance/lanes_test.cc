// Pools, lanes, leases and epochs.
#include "base/limits.h"
#include "store/conformance/conformance.h"

namespace pawl::store {

namespace {

class Lanes : public StoreTest {
 protected:
  LaneInfo info(core::LaneId lane) {
    const auto read = store_->read_lane(lane);
    EXPECT_TRUE(read);
    return read ? *read : LaneInfo{};
  }
};

TEST_P(Lanes, a_pool_is_made_once_and_keeps_its_number_of_lanes) {
  EXPECT_EQ(kind_of(OpenPool{Pool("flows"), 3}), OutcomeKind::committed);
  EXPECT_EQ(kind_of(OpenPool{Pool("flows"), 3}), OutcomeKind::already_done);
  EXPECT_EQ(kind_of(OpenPool{Pool("flows"), 4}), OutcomeKind::rejected);
  EXPECT_EQ((*store_->read_pool(Pool("flows")))->lanes, 3u);
}

TEST_P(Lanes, pools_share_no_lane) {
  EXPECT_EQ(kind_of(OpenPool{Pool("flows"), 3}), OutcomeKind::committed);
  const std::uint32_t first = (*store_->read_pool(Pool("flows")))->first.raw();
  EXPECT_TRUE(first > other_lane_.raw() || first + 3 <= lane_.raw());
}

TEST_P(Lanes, a_pool_without_lanes_is_rejected) {
  EXPECT_EQ(kind_of(OpenPool{Pool("empty"), 0}), OutcomeKind::rejected);
  EXPECT_FALSE(store_->read_pool(Pool("empty"))->has_value());
}

TEST_P(Lanes, a_pool_may_have_as_many_lanes_as_the_limit_and_no_more) {
  EXPECT_EQ(kind_of(OpenPool{Pool("large"), limits::lanes_per_pool_max + 1}), OutcomeKind::rejected);
  EXPECT_EQ(kind_of(OpenPool{Pool("large"), limits::lanes_per_pool_max}), OutcomeKind::committed);
}

TEST_P(Lanes, all_pools_together_stay_within_the_lane_part_of_a_run_id) {
  std::uint32_t lanes = 2;
  for (int pool = 0; lanes + limits::lanes_per_pool_max <= limits::lanes_max; ++pool) {
    ASSERT_EQ(kind_of(OpenPool{Pool(format("p{}", pool)), limits::lanes_per_pool_max}), OutcomeKind::committed);
    lanes += limits::lanes_per_pool_max;
  }
  EXPECT_EQ(kind_of(OpenPool{Pool("too-much"), limits::lanes_max - lanes + 1}), OutcomeKind::rejected);
  EXPECT_EQ(kind_of(OpenPool{Pool("just-fits"), limits::lanes_max - lanes}), OutcomeKind::committed);
  const PoolInfo last = **store_->read_pool(Pool("just-fits"));
  const core::LaneId highest(last.first.raw() + last.lanes - 1);
  EXPECT_EQ(core::lane_of(submit_to(highest, "in-the-highest-lane")), highest);
}

TEST_P(Lanes, a_pool_that_was_never_opened_is_not_found) {
  EXPECT_FALSE(store_->read_pool(Pool("nobody"))->has_value());
}

TEST_P(Lanes, a_lane_that_does_not_exist_is_an_error_to_read_and_to_acquire) {
  const auto read = store_->read_lane(core::LaneId(60'000));
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().code, ErrorCode::not_found);
  EXPECT_EQ(kind_of(AcquireLane{core::LaneId(60'000), "engine-a", lease}), OutcomeKind::rejected);
}

TEST_P(Lanes, lane_zero_has_no_owner) {
  EXPECT_NE(lane_, core::LaneId(0));
  EXPECT_EQ(kind_of(AcquireLane{core::LaneId(0), "engine-a", lease}), OutcomeKind::rejected);
}

TEST_P(Lanes, a_fresh_lane_is_free_and_has_the_epoch_before_the_first) {
  EXPECT_EQ(kind_of(OpenPool{Pool("flows"), 1}), OutcomeKind::committed);
  const LaneInfo fresh = info((*store_->read_pool(Pool("flows")))->first);
  EXPECT_TRUE(fresh.owner.empty());
  EXPECT_EQ(fresh.epoch, core::Epoch(0));
}

TEST_P(Lanes, an_owner_and_its_epoch_can_be_read) {
  EXPECT_EQ(info(lane_).owner, "engine-a");
  EXPECT_EQ(info(lane_).epoch, epoch_);
  EXPECT_EQ(info(lane_).lane, lane_);
}

TEST_P(Lanes, another_owner_waits_while_the_lease_runs) {
  EXPECT_EQ(kind_of(AcquireLane{lane_, "engine-b", lease}), OutcomeKind::conflict);
  EXPECT_EQ(info(lane_).owner, "engine-a");
  EXPECT_EQ(info(lane_).epoch, epoch_);
}

TEST_P(Lanes, the_same_owner_may_take_its_lane_again_and_fences_its_old_self) {
  const RunId run = submit("a");
  const core::Bundle old = bundle_for(run);
  const core::Epoch again = acquire(lane_, "engine-a");
  EXPECT_GT(again, epoch_);
  EXPECT_EQ(kind_of(old), OutcomeKind::fenced);
}

TEST_P(Lanes, a_lane_changes_hands_exactly_when_its_lease_has_run_out) {
  if (!info(lane_).lease_until) GTEST_SKIP() << "lanes of this store are held until given back";
  clock_.advance(lease - Duration(1));
  EXPECT_EQ(kind_of(AcquireLane{lane_, "engine-b", lease}), OutcomeKind::conflict);
  clock_.advance(Duration(1));
  const Outcome stolen = commit(AcquireLane{lane_, "engine-b", lease});
  EXPECT_EQ(stolen.kind, OutcomeKind::committed);
  EXPECT_EQ(stolen.epoch(), core::next(epoch_));
  EXPECT_EQ(stolen.lease_until(), clock_.now() + lease);
}

TEST_P(Lanes, an_expired_lease_that_nobody_took_still_commits_and_can_be_renewed) {
  // The lease gives liveness; the epoch gives safety.
  const RunId run = submit("a");
  clock_.advance(lease * 2);
  EXPECT_EQ(kind_of(bundle_for(run)), OutcomeKind::committed);
  EXPECT_EQ(kind_of(RenewLane{lane_, epoch_, lease}), OutcomeKind::committed);
  EXPECT_EQ(kind_of(AcquireLane{lane_, "engine-b", lease}), OutcomeKind::conflict);
}

TEST_P(Lanes, a_lane_without_a_lease_is_held_until_it_is_given_back) {
  ASSERT_EQ(kind_of(ReleaseLane{lane_, epoch_}), OutcomeKind::committed);
  const Outcome taken = commit(AcquireLane{lane_, "engine-a", Duration{0}});
  ASSERT_EQ(taken.kind, OutcomeKind::committed);
  EXPECT_FALSE(taken.lease_until());
  clock_.advance(lease * 100);
  EXPECT_EQ(kind_of(AcquireLane{lane_, "engine-b", Duration{0}}), OutcomeKind::conflict);
  EXPECT_EQ(kind_of(ReleaseLane{lane_, taken.epoch()}), OutcomeKind::committed);
  EXPECT_EQ(kind_of(AcquireLane{lane_, "engine-b", Duration{0}}), OutcomeKind::committed);
}

TEST_P(Lanes, a_renewal_counts_from_now) {
  clock_.advance(lease - Duration(1));
  const Outcome renewed = commit(RenewLane{lane_, epoch_, lease});
  EXPECT_EQ(renewed.kind, OutcomeKind::committed);
  EXPECT_EQ(renewed.lease_until().value_or(clock_.now() + lease), clock_.now() + lease);
  clock_.advance(lease - Duration(1));
  EXPECT_EQ(kind_of(AcquireLane{lane_, "engine-b", lease}), OutcomeKind::conflict);
}

TEST_P(Lanes, a_lane_given_back_is_free_at_once) {
  EXPECT_EQ(kind_of(ReleaseLane{lane_, epoch_}), OutcomeKind::committed);
  EXPECT_TRUE(info(lane_).owner.empty());
  EXPECT_GT(acquire(lane_, "engine-b"), epoch_);
}

TEST_P(Lanes, giving_back_twice_is_already_done) {
  EXPECT_EQ(kind_of(ReleaseLane{lane_, epoch_}), OutcomeKind::committed);
  EXPECT_EQ(kind_of(ReleaseLane{lane_, epoch_}), OutcomeKind::already_done);
}

TEST_P(Lanes, a_lane_given_back_takes_nothing_more_from_its_old_owner) {
  const RunId run = submit("a");
  const core::Bundle late = bundle_for(run);
  EXPECT_EQ(kind_of(ReleaseLane{lane_, epoch_}), OutcomeKind::committed);
  EXPECT_EQ(kind_of(late), OutcomeKind::fenced);
  EXPECT_EQ(kind_of(RenewLane{lane_, epoch_, lease}), OutcomeKind::fenced);
}

TEST_P(Lanes, whatever_an_epoch_guards_is_fenced_after_a_takeover) {
  const RunId run = submit("a");
  enqueue(run, 1);
  const core::Bundle late = bundle_for(run);
  const core::Epoch now = take_over(lane_, "engine-b");
  EXPECT_EQ(now, core::next(epoch_));
  EXPECT_EQ(kind_of(late), OutcomeKind::fenced);
  EXPECT_EQ(kind_of(RenewLane{lane_, epoch_, lease}), OutcomeKind::fenced);
  EXPECT_EQ(kind_of(ReleaseLane{lane_, epoch_}), OutcomeKind::fenced);
  EXPECT_EQ(kind_of(DropOutbox{lane_, epoch_, lane_, 0}), OutcomeKind::fenced);
  EXPECT_EQ(kind_of(ClaimItem{run, core::ActivitySeq(0), core::WorkToken(0), "w", epoch_}), OutcomeKind::fenced);
  EXPECT_EQ(info(lane_).owner, "engine-b");
  EXPECT_EQ(job(run).state.job.rev, core::Rev(1));
}

TEST_P(Lanes, a_takeover_of_one_lane_leaves_the_other_alone) {
  const RunId run = submit_to(other_lane_, "b");
  acquire(lane_, "engine-a");
  EXPECT_EQ(kind_of(bundle_for(run)), OutcomeKind::committed);
}

TEST_P(Lanes, an_owner_without_a_name_is_rejected) {
  EXPECT_EQ(kind_of(ReleaseLane{lane_, epoch_}), OutcomeKind::committed);
  EXPECT_EQ(kind_of(AcquireLane{lane_, "", lease}), OutcomeKind::rejected);
}

TEST_P(Lanes, epochs_rise_by_one_with_every_owner) {
  core::Epoch last = epoch_;
  for (int round = 0; round < 20; ++round) {
    const core::Epoch now = take_over(lane_, round % 2 == 0 ? "engine-b" : "engine-a");
    EXPECT_EQ(now, core::next(last));
    last = now;
  }
}

INSTANTIATE_TEST_SUITE_P(stores, Lanes, testing::ValuesIn(all_stores()), store_name);

}  // namespace

}  // namespace pawl::store
