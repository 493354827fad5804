// A work item beyond one claim: attempts, times, uncertain results, and who decides about it.
#include "core/secret.h"
#include "store/conformance/conformance.h"

namespace pawl::store {

namespace {

using std::chrono::seconds;

class WorkLives : public StoreTest {
 protected:
  Instant in(int count) { return clock_.now() + seconds(count); }
  core::WorkItem timed() {
    core::WorkItem item;
    item.life.queue_timeout = seconds(50);
    item.life.attempt_timeout = seconds(40);
    item.life.heartbeat_timeout = seconds(5);
    return item;
  }
  core::ChangeWork change(const core::WorkItem& item) {
    core::ChangeWork made;
    made.activity = item.activity;
    made.token = item.token;
    return made;
  }
  core::WorkItem local_claim(RunId run, std::uint32_t activity) {
    const Outcome outcome = commit(ClaimItem{run, core::ActivitySeq(activity), core::WorkToken(0), "local", epoch_});
    EXPECT_EQ(outcome.kind, OutcomeKind::committed);
    return outcome.items().at(0);
  }
  OutcomeKind respond(const core::WorkItem& item, core::ReplyStatus status) {
    return kind_of(DeliverReply{item.run, item.activity, item.token, answer_to(item, status)});
  }
};

TEST_P(WorkLives, every_field_of_an_item_comes_back_as_it_was) {
  core::WorkItem item = timed();
  item.token = core::WorkToken(17);
  item.worker = "local";
  item.epoch = epoch_;
  item.lease_until = in(1);
  item.runs = 4;
  item.input = "in";
  item.priority = -7;
  item.visible_at = in(2);
  item.held = true;
  item.life.deadline = in(3);
  item.life.at_most_once = true;
  item.life.unknown = true;
  item.life.queue_by = in(4);
  item.life.attempt_by = in(5);
  item.life.heartbeat_by = in(6);
  item.life.failures = 9;
  item.life.failure_code = -500;
  item.life.failure = std::string("no\0pe", 5);
  item.life.trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01 congo=t61 rojo";
  item.life.progress = Payload(std::string("ha\0lf", 5));
  const RunId run = submit("a");
  item = enqueue_item(run, item);
  EXPECT_EQ(stored_item(run, 0), item);
  EXPECT_EQ(store_->read_work(lane_, {}, 10)->at(0), item);
  item.life = {};
  item.life.failures = 1;  // a second put replaces the first, field by field
  item.priority = 8;
  ASSERT_EQ(kind_of(bundle_with(run, {core::PutWork{item}})), OutcomeKind::committed);
  EXPECT_EQ(stored_item(run, 0), item);
}

TEST_P(WorkLives, a_claim_starts_the_clocks_of_the_run_and_ends_those_of_the_wait) {
  core::WorkItem waits = timed();
  waits.visible_at = clock_.now() - Duration(1);
  waits.life.queue_by = in(50);
  const RunId run = submit("a");
  enqueue_item(run, waits);
  const core::WorkItem item = claim(1).at(0);
  EXPECT_EQ(item.visible_at, Instant());
  EXPECT_EQ(item.life.queue_by, Instant());
  EXPECT_EQ(item.life.attempt_by, in(40));
  EXPECT_EQ(item.life.heartbeat_by, in(5));
  EXPECT_EQ(item.runs, 1u);
  EXPECT_EQ(stored_item(run, 0), item);
}

TEST_P(WorkLives, a_local_claim_starts_no_clock_and_has_no_lease) {
  core::WorkItem waits = timed();
  waits.life.queue_by = in(50);
  const RunId run = submit("a");
  enqueue_item(run, waits);
  const core::WorkItem item = local_claim(run, 0);
  EXPECT_EQ(item.life.attempt_by, Instant());
  EXPECT_EQ(item.life.heartbeat_by, Instant());
  EXPECT_EQ(item.life.queue_by, in(50)) << "it waits for a thread";
  EXPECT_EQ(item.lease_until, Instant());
  EXPECT_EQ(stored_item(run, 0), item);
}

TEST_P(WorkLives, a_heartbeat_moves_the_lease_and_its_own_limit_and_answers_with_the_item) {
  const RunId run = submit("a");
  enqueue_item(run, timed());
  const core::WorkItem item = claim(1).at(0);
  clock_.advance(seconds(3));
  const Outcome outcome = commit(ExtendWork{run, item.activity, item.token, lease, Payload("half"), false});
  ASSERT_EQ(outcome.kind, OutcomeKind::committed);
  ASSERT_EQ(outcome.items().size(), 1u);
  const core::WorkItem& now = outcome.items()[0];
  EXPECT_EQ(now.lease_until, clock_.now() + lease);
  EXPECT_EQ(now.life.heartbeat_by, in(5));
  EXPECT_EQ(now.life.attempt_by, item.life.attempt_by) << "the run is no longer for it";
  EXPECT_EQ(now.life.progress, Payload("half"));
  EXPECT_EQ(now.token, item.token);
  EXPECT_EQ(stored_item(run, 0), now);
}

TEST_P(WorkLives, a_heartbeat_without_progress_keeps_the_last_one) {
  const RunId run = submit("a");
  enqueue(run, 1);
  const core::WorkItem item = claim(1).at(0);
  commit(ExtendWork{run, item.activity, item.token, lease, Payload("half"), false});
  commit(ExtendWork{run, item.activity, item.token, lease});
  EXPECT_EQ(stored_item(run, 0).life.progress, Payload("half"));
  EXPECT_EQ(stored_item(run, 0).life.heartbeat_by, Instant()) << "nobody asked for heartbeats";
}

TEST_P(WorkLives, the_next_run_may_read_the_progress_of_the_last) {
  const RunId run = submit("a");
  enqueue(run, 1);
  const core::WorkItem item = claim(1).at(0);
  commit(ExtendWork{run, item.activity, item.token, lease, Payload("half"), false});
  EXPECT_EQ(kind_of(ReleaseWork{run, item.activity, item.token}), OutcomeKind::committed);
  EXPECT_EQ(claim(1).at(0).life.progress, Payload("half"));
}

TEST_P(WorkLives, a_heartbeat_of_a_local_worker_gives_it_no_lease) {
  const RunId run = submit("a");
  enqueue_item(run, timed());
  const core::WorkItem item = local_claim(run, 0);
  clock_.advance(seconds(2));
  const core::WorkItem now = commit(ExtendWork{run, item.activity, item.token, lease}).items().at(0);
  EXPECT_EQ(now.lease_until, Instant());
  EXPECT_EQ(now.epoch, epoch_);
  EXPECT_EQ(now.life.heartbeat_by, Instant()) << "its process keeps the clock";
  clock_.advance(lease * 10);
  EXPECT_TRUE(claim(1).empty());
}

TEST_P(WorkLives, a_detached_item_belongs_to_its_token_under_a_lease) {
  const RunId run = submit("a");
  enqueue(run, 1);
  const core::WorkItem item = local_claim(run, 0);
  const core::WorkItem now =
      commit(ExtendWork{run, item.activity, item.token, lease, std::nullopt, true}).items().at(0);
  EXPECT_EQ(now.epoch, core::Epoch(0));
  EXPECT_EQ(now.lease_until, clock_.now() + lease);
  EXPECT_EQ(now.token, item.token);
  take_over(other_lane_, "engine-b");  // time passes where leases run
  EXPECT_EQ(respond(item, core::ReplyStatus::pending), OutcomeKind::committed);
  clock_.advance(lease);
  EXPECT_EQ(claim(1).size(), 1u) << "and when it runs out the item is anybody's";
}

TEST_P(WorkLives, progress_beyond_the_limit_is_rejected) {
  const RunId run = submit("a");
  enqueue(run, 1);
  const core::WorkItem item = claim(1).at(0);
  const Payload large(std::string((4u << 20) + 1, 'x'));
  EXPECT_EQ(kind_of(ExtendWork{run, item.activity, item.token, lease, large, false}), OutcomeKind::rejected);
  EXPECT_EQ(stored_item(run, 0), item);
}

TEST_P(WorkLives, a_returned_item_begins_a_new_wait) {
  const RunId run = submit("a");
  enqueue_item(run, timed());
  const core::WorkItem item = claim(1).at(0);
  clock_.advance(seconds(1));
  EXPECT_EQ(kind_of(ReleaseWork{run, item.activity, item.token}), OutcomeKind::committed);
  const core::WorkItem now = stored_item(run, 0);
  EXPECT_EQ(now.life.queue_by, in(50));
  EXPECT_EQ(now.life.attempt_by, Instant());
  EXPECT_EQ(now.life.heartbeat_by, Instant());
  EXPECT_EQ(now.token, core::WorkToken(0));
}

TEST_P(WorkLives, a_local_claim_that_nobody_began_is_undone_by_its_owner_alone) {
  core::WorkItem waits = timed();
  waits.life.queue_by = in(50);
  const RunId run = submit("a");
  const core::WorkItem before = enqueue_item(run, waits);
  const core::WorkItem item = local_claim(run, 0);
  clock_.advance(seconds(1));
  EXPECT_EQ(kind_of(ReleaseWork{run, item.activity, item.token}), OutcomeKind::conflict) << "it is not leased";
  EXPECT_EQ(kind_of(ReleaseWork{run, item.activity, item.token, core::Epoch(epoch_.raw() + 1), core::Began::no}),
            OutcomeKind::fenced);
  EXPECT_EQ(stored_item(run, 0), item);
  const ReleaseWork back{run, item.activity, item.token, epoch_, core::Began::no};
  EXPECT_EQ(kind_of(back), OutcomeKind::committed);
  EXPECT_EQ(stored_item(run, 0), before) << "as if it had not been claimed";
  EXPECT_EQ(kind_of(back), OutcomeKind::conflict);
  const core::WorkItem far = claim(1).at(0);
  EXPECT_EQ(kind_of(ReleaseWork{run, far.activity, far.token, epoch_, core::Began::no}), OutcomeKind::conflict)
      << "somebody else holds it under a lease";
}

TEST_P(WorkLives, a_detached_run_has_what_is_left_of_its_attempt) {
  const RunId run = submit("a");
  enqueue_item(run, timed());
  const core::WorkItem item = local_claim(run, 0);
  ExtendWork detach{run, item.activity, item.token, lease};
  detach.detach = true;
  detach.attempt_left = seconds(7);
  const core::WorkItem now = commit(detach).items().at(0);
  EXPECT_EQ(now.life.attempt_by, in(7));
  EXPECT_EQ(now.life.heartbeat_by, in(5));
}

TEST_P(WorkLives, a_changed_item_is_given_back_and_hidden_until_its_next_try) {
  const RunId run = submit("a");
  enqueue(run, 1);
  const core::WorkItem item = claim(1).at(0);
  core::ChangeWork retry = change(item);
  retry.visible_at = in(10);
  retry.life.failures = 1;
  retry.life.failure = "boom";
  ASSERT_EQ(kind_of(bundle_with(run, {retry})), OutcomeKind::committed);
  const core::WorkItem now = stored_item(run, 0);
  EXPECT_EQ(now.token, core::WorkToken(0));
  EXPECT_EQ(now.lease_until, Instant());
  EXPECT_EQ(now.visible_at, in(10));
  EXPECT_EQ(now.life, retry.life);
  EXPECT_EQ(now.runs, 1u);
  clock_.advance(seconds(10) - Duration(1));
  EXPECT_TRUE(claim(1).empty());
  clock_.advance(Duration(1));
  ASSERT_EQ(claim(1).size(), 1u);
  EXPECT_EQ(stored_item(run, 0).runs, 2u);
  EXPECT_EQ(stored_item(run, 0).life.failures, 1u) << "the tries are counted over all runs";
}

TEST_P(WorkLives, a_change_that_does_not_release_leaves_the_item_with_its_holder) {
  const RunId run = submit("a");
  enqueue(run, 1);
  const core::WorkItem item = claim(1).at(0);
  core::ChangeWork doubt = change(item);
  doubt.release = false;
  doubt.life.at_most_once = true;
  doubt.life.unknown = true;
  ASSERT_EQ(kind_of(bundle_with(run, {doubt})), OutcomeKind::committed);
  core::WorkItem expected = item;
  expected.life = doubt.life;
  EXPECT_EQ(stored_item(run, 0), expected);
  EXPECT_EQ(respond(item, core::ReplyStatus::success), OutcomeKind::committed) << "a late answer settles it";
}

TEST_P(WorkLives, a_change_under_a_stale_token_is_a_conflict_and_changes_nothing) {
  const RunId run = submit("a");
  enqueue(run, 2);
  const core::ChangeWork early = change(work_item(run, 0));
  const core::WorkItem item = claim(1).at(0);
  for (const core::WorkToken token : {core::WorkToken(0), core::WorkToken(5)}) {
    core::ChangeWork stale = early;
    stale.token = token;
    core::Bundle bundle = bundle_with(run, {core::PutMessage{start_message(1), in(5)}, stale,
                                            core::DropWork{core::ActivitySeq(1), core::WorkToken(0)}});
    EXPECT_EQ(kind_of(bundle), OutcomeKind::conflict);
  }
  core::ChangeWork missing = early;
  missing.activity = core::ActivitySeq(7);
  EXPECT_EQ(kind_of(bundle_with(run, {missing})), OutcomeKind::conflict);
  EXPECT_EQ(stored_item(run, 0), item);
  EXPECT_EQ(job(run).state.work().size(), 2u);
  EXPECT_TRUE(job(run).timers.empty());
}

TEST_P(WorkLives, a_changed_item_keeps_its_place_in_the_queue) {
  const RunId run = submit("a");
  enqueue(run, 3);
  const core::WorkItem item = claim(1).at(0);
  ASSERT_EQ(kind_of(bundle_with(run, {change(item)})), OutcomeKind::committed);
  EXPECT_EQ(claim(1).at(0).activity, item.activity);
}

TEST_P(WorkLives, a_change_and_a_drop_of_one_item_end_it) {
  const RunId run = submit("a");
  enqueue(run, 1);
  const core::WorkItem item = claim(1).at(0);
  const core::DropWork drop{item.activity, item.token};
  ASSERT_EQ(kind_of(bundle_with(run, {change(item), drop})), OutcomeKind::committed);
  EXPECT_TRUE(job(run).state.work().empty());
  EXPECT_TRUE(store_->read_work(lane_, {}, 10)->empty());
  EXPECT_TRUE(claim(1).empty());
}

TEST_P(WorkLives, a_change_and_an_answer_in_one_bundle_end_the_item) {
  const RunId run = submit("a");
  enqueue(run, 1);
  const core::WorkItem item = claim(1).at(0);
  core::ChangeWork doubt = change(item);
  doubt.release = false;
  const core::PutActivity done{activity_ledger(1'100'000'000'000), activity(0, 1'110'000'000'001)};
  const core::DropWork drop{item.activity, item.token};
  ASSERT_EQ(kind_of(bundle_with(run, {doubt, done, drop})), OutcomeKind::committed);
  EXPECT_TRUE(job(run).state.work().empty());
}

TEST_P(WorkLives, an_error_leaves_its_item_out_of_everybodys_reach) {
  for (const auto status : {core::ReplyStatus::error, core::ReplyStatus::fatal}) {
    const RunId run = submit(status == core::ReplyStatus::error ? "a" : "b");
    enqueue(run, 1);
    const core::WorkItem item = claim(1).at(0);
    ASSERT_EQ(respond(item, status), OutcomeKind::committed);
    ASSERT_EQ(job(run).inbox.size(), 2u);
    EXPECT_EQ(job(run).inbox[1].message, answer_to(item, status));
    core::WorkItem expected = item;
    expected.lease_until = DeliverReply::until_decided;
    EXPECT_EQ(stored_item(run, 0), expected);
    clock_.advance(std::chrono::hours(24 * 365 * 100));
    EXPECT_TRUE(claim(10).empty());
    EXPECT_EQ(kind_of(ExtendWork{run, item.activity, item.token, lease}), OutcomeKind::conflict);
    EXPECT_EQ(kind_of(ReleaseWork{run, item.activity, item.token}), OutcomeKind::conflict);
    EXPECT_EQ(stored_item(run, 0), expected);
  }
}

TEST_P(WorkLives, a_repeated_error_is_already_done_and_another_answer_after_it_is_refused) {
  const RunId run = submit("a");
  enqueue(run, 1);
  const core::WorkItem item = claim(1).at(0);
  EXPECT_EQ(respond(item, core::ReplyStatus::error), OutcomeKind::committed);
  EXPECT_EQ(respond(item, core::ReplyStatus::error), OutcomeKind::already_done);
  EXPECT_EQ(respond(item, core::ReplyStatus::pending), OutcomeKind::conflict);
  EXPECT_EQ(job(run).inbox.size(), 2u);
}

TEST_P(WorkLives, after_an_error_the_job_may_give_the_item_back) {
  const RunId run = submit("a");
  enqueue(run, 1);
  const core::WorkItem item = claim(1).at(0);
  EXPECT_EQ(respond(item, core::ReplyStatus::error), OutcomeKind::committed);
  const core::Guid answer = answer_to(item, core::ReplyStatus::error).guid;
  ASSERT_EQ(kind_of(bundle_with(run, {core::Consume{answer}, change(item)})), OutcomeKind::committed);
  const core::WorkItem second = claim(1).at(0);
  EXPECT_EQ(second.token, core::token_of(item.request, 2));
  EXPECT_EQ(respond(item, core::ReplyStatus::error), OutcomeKind::conflict) << "the first run is stale";
  EXPECT_EQ(respond(second, core::ReplyStatus::error), OutcomeKind::committed);
}

TEST_P(WorkLives, a_lost_run_that_may_have_acted_is_never_handed_out_again_by_itself) {
  core::WorkItem careful;
  careful.life.at_most_once = true;
  const RunId run = submit("a");
  enqueue_item(run, careful);
  const core::WorkItem item = claim(1).at(0);
  clock_.advance(lease * 100);
  EXPECT_TRUE(claim(1).empty());
  EXPECT_EQ(store_->read_due(lane_, std::nullopt, 10)->size(), 1u) << "the lane's owner hears of it";
  core::ChangeWork again = change(item);
  again.life = item.life;
  ASSERT_EQ(kind_of(bundle_with(run, {again})), OutcomeKind::committed);
  EXPECT_EQ(claim(1).size(), 1u) << "until the job says so";
}

INSTANTIATE_TEST_SUITE_P(stores, WorkLives, testing::ValuesIn(all_stores()), store_name);

}  // namespace

}  // namespace pawl::store
