// The work queue: claims, leases, tokens and replies of remote and local workers.
#include "core/secret.h"
#include "store/conformance/conformance.h"

namespace pawl::store {

namespace {

class WorkItems : public StoreTest {
 protected:
  std::vector<core::WorkItem> claim(std::size_t items_max, const std::string& worker = "w",
                                    const std::string& topic = "topic") {
    return commit(ClaimWork{{Topic(topic)}, items_max, worker, lease}).items();
  }
  core::WorkItem claim_one(const std::string& worker = "w") {
    const auto items = claim(1, worker);
    EXPECT_EQ(items.size(), 1u);
    return items.empty() ? core::WorkItem{} : items.front();
  }
  OutcomeKind respond(const core::WorkItem& item, core::ReplyStatus status = core::ReplyStatus::success) {
    return kind_of(DeliverReply{item.run, item.activity, item.token, answer_to(item, status)});
  }
  const core::WorkItem stored(const core::WorkItem& item) {
    const StoredJob read = job(item.run);
    const core::WorkItem* found = read.state.find_work(item.activity);
    EXPECT_NE(found, nullptr);
    return found == nullptr ? core::WorkItem{} : *found;
  }
};

TEST_P(WorkItems, a_claim_hands_out_the_item_with_a_token_a_worker_and_a_lease) {
  const RunId run = submit("a");
  enqueue(run, 1);
  const core::WorkItem item = claim_one("worker-1");
  const core::WorkItem fresh = work_item(run, 0);
  EXPECT_EQ(item.run, run);
  EXPECT_EQ(item.request, fresh.request);
  EXPECT_EQ(item.input, fresh.input);
  EXPECT_EQ(item.topic, Topic("topic"));
  EXPECT_EQ(item.runs, 1u);
  EXPECT_EQ(item.token, core::token_of(fresh.request, 1));
  EXPECT_EQ(item.worker, "worker-1");
  EXPECT_EQ(item.epoch, core::Epoch(0));
  EXPECT_EQ(item.lease_until, clock_.now() + lease);
  EXPECT_EQ(stored(item), item);
}

TEST_P(WorkItems, nobody_gets_an_item_while_its_lease_runs) {
  enqueue(submit("a"), 1);
  claim_one();
  clock_.advance(lease - Duration(1));
  EXPECT_TRUE(claim(10).empty());
}

TEST_P(WorkItems, an_item_whose_lease_ran_out_is_claimed_again_under_a_new_token) {
  enqueue(submit("a"), 1);
  const core::WorkItem first = claim_one("slow");
  clock_.advance(lease);
  const core::WorkItem second = claim_one("fast");
  EXPECT_EQ(second.runs, 2u);
  EXPECT_EQ(second.token, core::token_of(first.request, 2));
  EXPECT_EQ(second.request, first.request) << "the idempotency key is stable over runs";
  EXPECT_EQ(respond(first), OutcomeKind::conflict);
  EXPECT_EQ(respond(second), OutcomeKind::committed);
}

TEST_P(WorkItems, a_claim_takes_only_its_topics) {
  const RunId one = submit("a");
  const RunId two = submit("b");
  const RunId three = submit("c");
  enqueue(one, 2, "red");
  enqueue(two, 2, "green");
  enqueue(three, 2, "blue");
  EXPECT_TRUE(claim(10, "w", "yellow").empty());
  EXPECT_EQ(commit(ClaimWork{{Topic("red"), Topic("blue")}, 10, "w", lease}).items().size(), 4u);
  EXPECT_EQ(claim(10, "w", "green").size(), 2u);
}

TEST_P(WorkItems, a_topic_named_twice_gives_each_item_once) {
  enqueue(submit("a"), 3);
  EXPECT_EQ(commit(ClaimWork{{Topic("topic"), Topic("topic")}, 10, "w", lease}).items().size(), 3u);
}

TEST_P(WorkItems, a_claim_of_no_topic_or_no_item_is_empty) {
  enqueue(submit("a"), 1);
  EXPECT_TRUE(commit(ClaimWork{{}, 10, "w", lease}).items().empty());
  EXPECT_TRUE(claim(0).empty());
  EXPECT_EQ(claim(1).size(), 1u);
}

TEST_P(WorkItems, items_of_several_topics_and_lanes_come_oldest_first) {
  std::vector<RunId> runs;
  for (int i = 0; i < 6; ++i) {
    runs.push_back(submit_to(i % 2 == 0 ? other_lane_ : lane_, format("job-{}", 9 - i)));
    enqueue(runs.back(), 1, i % 3 == 0 ? "red" : "blue");
  }
  const auto items = commit(ClaimWork{{Topic("blue"), Topic("red")}, 5, "w", lease}).items();
  ASSERT_EQ(items.size(), 5u);
  for (std::size_t i = 0; i < 5; ++i) EXPECT_EQ(items[i].run, runs[i]);
}

TEST_P(WorkItems, ten_thousand_items_are_handed_out_once_each_in_order) {
  const RunId run = submit("a");
  enqueue(run, 10'000);
  std::uint32_t expected = 0;
  while (expected < 10'000) {
    const auto items = claim(97);
    ASSERT_FALSE(items.empty());
    for (const core::WorkItem& item : items) ASSERT_EQ(item.activity.raw(), expected++);
  }
  EXPECT_TRUE(claim(97).empty());
}

TEST_P(WorkItems, a_returned_item_keeps_its_place_in_the_queue) {
  const RunId run = submit("a");
  enqueue(run, 3);
  const core::WorkItem first = claim_one();
  EXPECT_EQ(kind_of(ReleaseWork{first.run, first.activity, first.token}), OutcomeKind::committed);
  const core::WorkItem again = claim_one();
  EXPECT_EQ(again.activity, first.activity);
  EXPECT_EQ(again.runs, 2u) << "every hand-out is a run";
}

TEST_P(WorkItems, a_released_item_belongs_to_nobody) {
  enqueue(submit("a"), 1);
  const core::WorkItem item = claim_one();
  EXPECT_EQ(kind_of(ReleaseWork{item.run, item.activity, item.token}), OutcomeKind::committed);
  const core::WorkItem now = stored(item);
  EXPECT_EQ(now.token, core::WorkToken(0));
  EXPECT_TRUE(now.worker.empty());
  EXPECT_EQ(now.epoch, core::Epoch(0));
  EXPECT_EQ(now.lease_until, Instant());
  EXPECT_EQ(now.runs, 1u);
  EXPECT_EQ(respond(item), OutcomeKind::conflict);
  EXPECT_EQ(kind_of(ReleaseWork{item.run, item.activity, item.token}), OutcomeKind::conflict);
}

TEST_P(WorkItems, an_extended_lease_counts_from_now) {
  enqueue(submit("a"), 1);
  const core::WorkItem item = claim_one();
  clock_.advance(lease - Duration(1));
  EXPECT_EQ(kind_of(ExtendWork{item.run, item.activity, item.token, lease}), OutcomeKind::committed);
  EXPECT_EQ(stored(item).lease_until, clock_.now() + lease);
  clock_.advance(lease - Duration(1));
  EXPECT_TRUE(claim(1).empty());
  clock_.advance(Duration(1));
  EXPECT_EQ(claim(1).size(), 1u);
}

TEST_P(WorkItems, a_lease_that_ran_out_may_still_be_extended_while_nobody_took_the_item) {
  enqueue(submit("a"), 1);
  const core::WorkItem item = claim_one();
  clock_.advance(lease * 3);
  EXPECT_EQ(kind_of(ExtendWork{item.run, item.activity, item.token, lease}), OutcomeKind::committed);
  EXPECT_TRUE(claim(1).empty());
}

TEST_P(WorkItems, a_stale_or_zero_token_is_a_conflict_for_every_operation) {
  enqueue(submit("a"), 1);
  core::WorkItem stale = claim_one();
  clock_.advance(lease);
  const core::WorkItem current = claim_one();
  for (const core::WorkToken token : {stale.token, core::WorkToken(0), core::WorkToken(current.token.raw() ^ 2)}) {
    stale.token = token;
    EXPECT_EQ(kind_of(ExtendWork{stale.run, stale.activity, token, lease}), OutcomeKind::conflict);
    EXPECT_EQ(kind_of(ReleaseWork{stale.run, stale.activity, token}), OutcomeKind::conflict);
    EXPECT_EQ(respond(stale), OutcomeKind::conflict);
  }
  EXPECT_EQ(stored(current), current);
}

TEST_P(WorkItems, token_zero_does_not_open_an_unclaimed_item) {
  const RunId run = submit("a");
  enqueue(run, 1);
  const core::WorkItem item = work_item(run, 0);
  EXPECT_EQ(kind_of(ExtendWork{run, item.activity, item.token, lease}), OutcomeKind::conflict);
  EXPECT_EQ(kind_of(ReleaseWork{run, item.activity, item.token}), OutcomeKind::conflict);
  EXPECT_EQ(respond(item), OutcomeKind::conflict);
}

TEST_P(WorkItems, items_that_do_not_exist_are_a_conflict) {
  const RunId run = submit("a");
  core::WorkItem item = work_item(run, 7);
  item.token = core::WorkToken(5);
  for (const RunId where : {run, core::make_run(lane_, 4711)}) {
    item.run = where;
    EXPECT_EQ(kind_of(ExtendWork{where, item.activity, item.token, lease}), OutcomeKind::conflict);
    EXPECT_EQ(kind_of(ReleaseWork{where, item.activity, item.token}), OutcomeKind::conflict);
    EXPECT_EQ(kind_of(ClaimItem{where, item.activity, core::WorkToken(0), "w", epoch_}), OutcomeKind::conflict);
    EXPECT_EQ(respond(item), OutcomeKind::conflict);
  }
}

TEST_P(WorkItems, a_success_waits_in_the_inbox_and_takes_the_item_with_it) {
  const RunId run = submit("a");
  enqueue(run, 1);
  const core::WorkItem item = claim_one();
  EXPECT_EQ(respond(item), OutcomeKind::committed);
  EXPECT_TRUE(job(run).state.work().empty());
  ASSERT_EQ(job(run).inbox.size(), 2u);
  EXPECT_EQ(job(run).inbox[1].message, answer_to(item));
}

TEST_P(WorkItems, a_pending_answer_leaves_the_item_with_its_worker) {
  const RunId run = submit("a");
  enqueue(run, 1);
  const core::WorkItem item = claim_one();
  EXPECT_EQ(respond(item, core::ReplyStatus::pending), OutcomeKind::committed);
  EXPECT_EQ(respond(item, core::ReplyStatus::pending), OutcomeKind::already_done);
  EXPECT_EQ(stored(item), item);
  EXPECT_EQ(job(run).inbox.size(), 2u);
  EXPECT_EQ(respond(item), OutcomeKind::committed);
  EXPECT_EQ(job(run).inbox.size(), 3u);
}

TEST_P(WorkItems, a_repeated_final_answer_is_already_done_while_the_first_waits) {
  const RunId run = submit("a");
  enqueue(run, 1);
  const core::WorkItem item = claim_one();
  EXPECT_EQ(respond(item), OutcomeKind::committed);
  EXPECT_EQ(respond(item), OutcomeKind::already_done);
  EXPECT_EQ(job(run).inbox.size(), 2u);
}

TEST_P(WorkItems, an_answer_needs_no_epoch_and_does_not_move_the_rev) {
  const RunId run = submit("a");
  enqueue(run, 1);
  const core::WorkItem item = claim_one();
  take_over(lane_, "engine-b");
  EXPECT_EQ(respond(item), OutcomeKind::committed);
  EXPECT_EQ(job(run).state.job.rev, core::Rev(1));
}

TEST_P(WorkItems, an_answer_to_a_closed_job_is_a_conflict_for_its_item_is_gone) {
  const RunId run = submit("a");
  enqueue(run, 1);
  const core::WorkItem item = claim_one();
  close(run, core::JobStatus::interrupted);
  EXPECT_EQ(respond(item), OutcomeKind::conflict);
  EXPECT_TRUE(job(run).inbox.empty());
}

TEST_P(WorkItems, a_message_that_is_no_answer_to_the_item_is_rejected) {
  const RunId run = submit("a");
  enqueue(run, 2);
  const core::WorkItem item = claim_one();
  EXPECT_EQ(kind_of(DeliverReply{run, item.activity, item.token, start_message(1)}), OutcomeKind::rejected);
  core::WorkItem other = item;
  other.activity = core::ActivitySeq(1);
  EXPECT_EQ(kind_of(DeliverReply{run, item.activity, item.token, answer_to(other)}), OutcomeKind::rejected);
  EXPECT_EQ(stored(item), item);
}

TEST_P(WorkItems, the_lanes_owner_claims_a_known_item_for_a_local_worker) {
  const RunId run = submit("a");
  enqueue(run, 1);
  const Outcome outcome = commit(ClaimItem{run, core::ActivitySeq(0), core::WorkToken(0), "local", epoch_});
  ASSERT_EQ(outcome.kind, OutcomeKind::committed);
  ASSERT_EQ(outcome.items().size(), 1u);
  const core::WorkItem item = outcome.items().front();
  EXPECT_EQ(item.token, core::token_of(item.request, 1, epoch_));
  EXPECT_EQ(item.runs, 1u);
  EXPECT_EQ(item.worker, "local");
  EXPECT_EQ(item.epoch, epoch_);
  EXPECT_EQ(stored(item), item);
}

TEST_P(WorkItems, a_local_claim_of_an_item_that_somebody_else_took_is_a_conflict) {
  const RunId run = submit("a");
  enqueue(run, 1);
  const core::WorkItem item = claim_one("remote");
  EXPECT_EQ(kind_of(ClaimItem{run, item.activity, core::WorkToken(0), "local", epoch_}), OutcomeKind::conflict);
  EXPECT_EQ(stored(item), item);
  EXPECT_EQ(kind_of(ClaimItem{run, item.activity, item.token, "local", epoch_}), OutcomeKind::committed);
}

TEST_P(WorkItems, a_local_claim_never_runs_out_by_the_clock) {
  const RunId run = submit("a");
  enqueue(run, 1);
  EXPECT_EQ(kind_of(ClaimItem{run, core::ActivitySeq(0), core::WorkToken(0), "local", epoch_}), OutcomeKind::committed);
  clock_.advance(lease * 1000);
  EXPECT_TRUE(claim(10).empty());
}

TEST_P(WorkItems, a_bundle_that_drops_an_item_which_was_claimed_meanwhile_is_a_conflict) {
  const RunId run = submit("a");
  enqueue(run, 1);
  const core::Bundle bundle = bundle_with(run, {core::DropWork{core::ActivitySeq(0), core::WorkToken(0)}});
  const core::WorkItem item = claim_one();
  EXPECT_EQ(kind_of(bundle), OutcomeKind::conflict);
  EXPECT_EQ(stored(item), item);
  EXPECT_EQ(kind_of(bundle_with(run, {core::DropWork{item.activity, item.token}})), OutcomeKind::committed);
  EXPECT_TRUE(job(run).state.work().empty());
}

TEST_P(WorkItems, a_bundle_that_drops_an_item_which_is_gone_is_a_conflict) {
  const RunId run = submit("a");
  EXPECT_EQ(kind_of(bundle_with(run, {core::DropWork{core::ActivitySeq(0), core::WorkToken(0)}})),
            OutcomeKind::conflict);
}

TEST_P(WorkItems, a_dropped_item_is_claimed_by_nobody) {
  const RunId run = submit("a");
  enqueue(run, 2);
  EXPECT_EQ(kind_of(bundle_with(run, {core::DropWork{core::ActivitySeq(0), core::WorkToken(0)}})),
            OutcomeKind::committed);
  const auto items = claim(10);
  ASSERT_EQ(items.size(), 1u);
  EXPECT_EQ(items[0].activity, core::ActivitySeq(1));
}

TEST_P(WorkItems, an_item_put_with_a_local_claim_is_not_offered_to_remote_workers) {
  const RunId run = submit("a");
  core::WorkItem item = work_item(run, 0);
  item.token = core::token_of(item.request, 1);
  item.runs = 1;
  item.worker = "local";
  item.epoch = epoch_;
  EXPECT_EQ(kind_of(bundle_with(run, {core::PutActivity{std::nullopt, activity(0)}, core::PutWork{item}})),
            OutcomeKind::committed);
  EXPECT_TRUE(claim(10).empty());
  EXPECT_EQ(kind_of(ReleaseWork{run, item.activity, item.token, epoch_}), OutcomeKind::committed);
  EXPECT_EQ(claim(10).size(), 1u);
}

TEST_P(WorkItems, a_claim_of_one_lane_takes_nothing_of_another) {
  const RunId here = submit("here");
  const RunId there = submit_to(other_lane_, "there");
  enqueue(there, 2);
  enqueue(here, 2);
  const auto claim_in = [&](core::LaneId lane) {
    return commit(ClaimWork{{Topic("topic")}, 10, "w", lease, lane}).items();
  };
  const auto first = claim_in(lane_);
  ASSERT_EQ(first.size(), 2u);
  for (const core::WorkItem& item : first) EXPECT_EQ(item.run, here);
  EXPECT_TRUE(claim_in(lane_).empty());
  clock_.advance(lease);
  EXPECT_EQ(claim_in(lane_).size(), 2u) << "their lease is over";
  const auto second = claim_in(other_lane_);
  ASSERT_EQ(second.size(), 2u);
  for (const core::WorkItem& item : second) EXPECT_EQ(item.run, there);
}

INSTANTIATE_TEST_SUITE_P(stores, WorkItems, testing::ValuesIn(all_stores()), store_name);

}  // namespace

}  // namespace pawl::store
