// An activity whose work is done has no work item any more, whichever operation deleted the item.
#include "store/conformance/conformance.h"

namespace pawl::store {

class AnsweredTest : public StoreTest {};

TEST_P(AnsweredTest, an_answered_activity_leaves_the_work_queue) {
  const RunId run = submit("order");
  enqueue(run, 2);
  const auto before = activity_ledger(1'100'000'000'000);
  const auto done = activity(0, 1'110'000'000'001);
  ASSERT_EQ(kind_of(bundle_with(run, {core::PutActivity{before, done}})), OutcomeKind::committed);
  const auto waiting = store_->read_work(lane_, {}, 10);
  ASSERT_TRUE(waiting);
  ASSERT_EQ(waiting->size(), 1u);
  EXPECT_EQ(waiting->front().activity, core::ActivitySeq(1));
  EXPECT_EQ(job(run).state.find_work(core::ActivitySeq(0)), nullptr);
  EXPECT_EQ(commit(ClaimWork{{Topic("topic")}, 10, "worker", lease}).items().size(), 1u);
}

TEST_P(AnsweredTest, the_other_items_of_the_bundle_are_dropped_by_their_own_answers) {
  const RunId run = submit("order");
  enqueue(run, 3);
  const auto before = activity_ledger(1'100'000'000'000);
  const std::vector<core::Write> writes = {core::DropWork{core::ActivitySeq(0), core::WorkToken(0)},
                                           core::PutActivity{before, activity(0, 1'110'000'000'001)},
                                           core::PutActivity{before, activity(1, 1'110'000'000'001)}};
  ASSERT_EQ(kind_of(bundle_with(run, writes)), OutcomeKind::committed);
  const auto waiting = store_->read_work(lane_, {}, 10);
  ASSERT_TRUE(waiting);
  ASSERT_EQ(waiting->size(), 1u);
  EXPECT_EQ(waiting->front().activity, core::ActivitySeq(2));
}

TEST_P(AnsweredTest, a_drop_may_stand_after_the_mark_that_answers_it) {
  // A pending and a final reply in one bundle: the activity's write is where the first one put it.
  const RunId run = submit("order");
  enqueue(run, 2);
  const auto before = activity_ledger(1'100'000'000'000);
  const core::PutActivity done{before, activity(0, 1'110'000'000'002)};
  const core::DropWork stale{core::ActivitySeq(0), core::WorkToken(9)};
  const core::DropWork right{core::ActivitySeq(0), core::WorkToken(0)};
  EXPECT_EQ(kind_of(bundle_with(run, {done, stale})), OutcomeKind::conflict);
  EXPECT_EQ(kind_of(bundle_with(run, {done, right})), OutcomeKind::committed);
  EXPECT_EQ(job(run).state.work().size(), 1u);
}

TEST_P(AnsweredTest, a_drop_after_a_sweep_is_still_a_guard_on_its_token) {
  // Claim: tokens are compared with what was stored before the bundle. Checked in both orders.
  const RunId run = submit("order");
  enqueue(run, 2);
  const core::DropWork right{core::ActivitySeq(0), core::WorkToken(0)};
  const core::DropWork stale{core::ActivitySeq(1), core::WorkToken(9)};
  const core::Sweep sweep{std::nullopt};
  EXPECT_EQ(kind_of(bundle_with(run, {sweep, stale})), OutcomeKind::conflict);
  EXPECT_EQ(kind_of(bundle_with(run, {stale, sweep})), OutcomeKind::conflict);
  EXPECT_EQ(job(run).state.work().size(), 2u);
  EXPECT_EQ(kind_of(bundle_with(run, {sweep, right})), OutcomeKind::committed);
  EXPECT_TRUE(job(run).state.work().empty());
}

INSTANTIATE_TEST_SUITE_P(stores, AnsweredTest, testing::ValuesIn(all_stores()), store_name);

}  // namespace pawl::store
