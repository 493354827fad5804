// Which items are handed out: priority before age, and never those that are held, hidden or of a paused topic.
#include "base/limits.h"
#include "store/conformance/conformance.h"

namespace pawl::store {

namespace {

using std::chrono::seconds;

class WorkOrder : public StoreTest {
 protected:
  std::uint32_t put(RunId run, std::int32_t priority, Instant visible_at = {}, const std::string& topic = "topic") {
    core::WorkItem item;
    item.priority = priority;
    item.visible_at = visible_at;
    item.topic = Topic(topic);
    return enqueue_item(run, item).activity.raw();
  }
  std::vector<std::uint32_t> order(std::size_t items_max = 100) {
    std::vector<std::uint32_t> activities;
    for (const core::WorkItem& item : claim(items_max)) activities.push_back(item.activity.raw());
    return activities;
  }
  OutcomeKind hold(RunId run, bool held) { return kind_of(bundle_with(run, {core::HoldWork{held}})); }
};

TEST_P(WorkOrder, a_larger_priority_goes_first_and_then_the_older) {
  const RunId run = submit("a");
  for (const std::int32_t priority : {0, 5, -5, 5, 0, 1'000'000, -1'000'000}) put(run, priority);
  EXPECT_EQ(order(), (std::vector<std::uint32_t>{5, 1, 3, 0, 4, 2, 6}));
}

TEST_P(WorkOrder, a_claim_of_a_few_takes_the_first_of_all_topics) {
  const RunId run = submit("a");
  put(run, 1, {}, "red");
  put(run, 3, {}, "blue");
  put(run, 2, {}, "red");
  const auto items = commit(ClaimWork{{Topic("red"), Topic("blue")}, 2, "w", lease}).items();
  ASSERT_EQ(items.size(), 2u);
  EXPECT_EQ(items[0].activity.raw(), 1u);
  EXPECT_EQ(items[1].activity.raw(), 2u);
}

TEST_P(WorkOrder, free_items_and_those_whose_time_came_stand_in_one_line) {
  const RunId run = submit("a");
  put(run, 0);
  put(run, 2, clock_.now() + seconds(1));  // a retry
  put(run, 1);
  put(run, 3, clock_.now() + seconds(9));  // not yet
  const core::WorkItem lost = claim(1).at(0);
  EXPECT_EQ(lost.activity.raw(), 2u);
  clock_.advance(lease - seconds(25));
  EXPECT_EQ(order(1), (std::vector<std::uint32_t>{1}));
  clock_.advance(seconds(25));
  EXPECT_EQ(order(), (std::vector<std::uint32_t>{3, 2, 0})) << "one whose lease ran out stands where it stood";
}

TEST_P(WorkOrder, an_item_is_handed_out_from_the_very_moment_it_is_visible) {
  put(submit("a"), 0, clock_.now() + seconds(1));
  clock_.advance(seconds(1) - Duration(1));
  EXPECT_TRUE(order().empty());
  clock_.advance(Duration(1));
  EXPECT_EQ(order().size(), 1u);
}

TEST_P(WorkOrder, a_hundred_hidden_items_do_not_hide_the_one_behind_them) {
  const RunId run = submit("a");
  std::vector<core::Write> writes;
  for (std::uint32_t seq = 0; seq < 101; ++seq) {
    core::WorkItem item = work_item(run, seq);
    if (seq < 100) item.visible_at = clock_.now() + seconds(60);
    writes.emplace_back(core::PutActivity{std::nullopt, activity(seq)});
    writes.emplace_back(core::PutWork{item});
  }
  ASSERT_EQ(kind_of(bundle_with(run, std::move(writes))), OutcomeKind::committed);
  EXPECT_EQ(order(1), (std::vector<std::uint32_t>{100}));
}

TEST_P(WorkOrder, held_items_are_handed_to_nobody_until_they_are_given_free) {
  const RunId run = submit("a");
  const RunId other = submit("b");
  put(run, 0);
  put(run, 0, clock_.now() - Duration(1));
  const core::WorkItem leased = claim(1).at(0);
  put(other, 0);
  ASSERT_EQ(hold(run, true), OutcomeKind::committed);
  EXPECT_TRUE(stored_item(run, 0).held && stored_item(run, 1).held);
  EXPECT_FALSE(stored_item(other, 0).held) << "another job's items are none of its business";
  clock_.advance(lease);
  const auto items = claim(100);
  ASSERT_EQ(items.size(), 1u);
  EXPECT_EQ(items[0].run, other);
  EXPECT_EQ(kind_of(ClaimItem{run, core::ActivitySeq(1), core::WorkToken(0), "local", epoch_}), OutcomeKind::conflict);
  EXPECT_EQ(kind_of(ClaimItem{run, leased.activity, leased.token, "local", epoch_}), OutcomeKind::conflict);
  ASSERT_EQ(hold(run, false), OutcomeKind::committed);
  EXPECT_EQ(claim(100).size(), 2u);
}

TEST_P(WorkOrder, whoever_has_a_held_item_may_still_answer_extend_or_return_it) {
  const RunId run = submit("a");
  enqueue(run, 3);
  const auto items = claim(3);
  ASSERT_EQ(hold(run, true), OutcomeKind::committed);
  EXPECT_EQ(kind_of(ExtendWork{run, items[0].activity, items[0].token, lease}), OutcomeKind::committed);
  EXPECT_TRUE(stored_item(run, 0).held);
  EXPECT_EQ(kind_of(ReleaseWork{run, items[1].activity, items[1].token}), OutcomeKind::committed);
  EXPECT_TRUE(stored_item(run, 1).held);
  EXPECT_EQ(kind_of(DeliverReply{run, items[2].activity, items[2].token, answer_to(items[2])}), OutcomeKind::committed);
  EXPECT_TRUE(claim(10).empty());
}

TEST_P(WorkOrder, a_hold_takes_what_its_bundle_put_before_it_and_leaves_what_comes_after) {
  const RunId run = submit("a");
  put(run, 0);
  ASSERT_EQ(kind_of(bundle_with(run, {core::PutActivity{std::nullopt, activity(1)}, core::PutWork{work_item(run, 1)},
                                      core::HoldWork{true}, core::PutActivity{std::nullopt, activity(2)},
                                      core::PutWork{work_item(run, 2)}})),
            OutcomeKind::committed);
  EXPECT_TRUE(stored_item(run, 0).held);
  EXPECT_TRUE(stored_item(run, 1).held);
  EXPECT_FALSE(stored_item(run, 2).held);
  EXPECT_EQ(order(), (std::vector<std::uint32_t>{2}));
}

TEST_P(WorkOrder, a_hold_stays_over_a_change) {
  const RunId run = submit("a");
  put(run, 0);
  ASSERT_EQ(hold(run, true), OutcomeKind::committed);
  core::ChangeWork change;
  change.activity = core::ActivitySeq(0);
  ASSERT_EQ(kind_of(bundle_with(run, {change})), OutcomeKind::committed);
  EXPECT_TRUE(stored_item(run, 0).held);
  EXPECT_TRUE(order().empty());
}

TEST_P(WorkOrder, a_hold_of_a_job_without_work_is_fine) {
  const RunId run = submit("a");
  EXPECT_EQ(hold(run, true), OutcomeKind::committed);
  EXPECT_EQ(hold(run, false), OutcomeKind::committed);
}

TEST_P(WorkOrder, a_paused_topic_hands_out_nothing_and_the_others_do) {
  const RunId run = submit("a");
  put(run, 9, {}, "red");
  put(run, 0, {}, "blue");
  EXPECT_EQ(kind_of(PauseTopic{Topic("red"), true}), OutcomeKind::committed);
  EXPECT_EQ(kind_of(PauseTopic{Topic("red"), true}), OutcomeKind::already_done);
  const auto items = commit(ClaimWork{{Topic("red"), Topic("blue")}, 10, "w", lease}).items();
  ASSERT_EQ(items.size(), 1u);
  EXPECT_EQ(items[0].topic, Topic("blue"));
  EXPECT_EQ(kind_of(ClaimItem{run, core::ActivitySeq(0), core::WorkToken(0), "local", epoch_}), OutcomeKind::conflict);
  EXPECT_EQ(kind_of(PauseTopic{Topic("red"), false}), OutcomeKind::committed);
  EXPECT_EQ(kind_of(PauseTopic{Topic("red"), false}), OutcomeKind::already_done);
  EXPECT_EQ(claim(10, "red").size(), 1u);
}

TEST_P(WorkOrder, what_runs_when_its_topic_is_paused_runs_on) {
  const RunId run = submit("a");
  enqueue(run, 2);
  const auto items = claim(2);
  EXPECT_EQ(kind_of(PauseTopic{Topic("topic"), true}), OutcomeKind::committed);
  EXPECT_EQ(kind_of(ExtendWork{run, items[0].activity, items[0].token, lease}), OutcomeKind::committed);
  EXPECT_EQ(kind_of(DeliverReply{run, items[0].activity, items[0].token, answer_to(items[0])}), OutcomeKind::committed);
  clock_.advance(lease);
  EXPECT_TRUE(claim(1).empty()) << "but a lost run is not repeated meanwhile";
}

TEST_P(WorkOrder, paused_topics_are_listed_by_name) {
  EXPECT_TRUE(store_->read_paused_topics()->empty());
  for (const char* topic : {"b", "a", "c"}) commit(PauseTopic{Topic(topic), true});
  commit(PauseTopic{Topic("b"), false});
  EXPECT_EQ(*store_->read_paused_topics(), (std::vector<Topic>{Topic("a"), Topic("c")}));
}

TEST_P(WorkOrder, too_many_paused_topics_are_rejected) {
  std::vector<Operation> group;
  for (std::size_t i = 0; i < limits::paused_topics_max; ++i)
    group.emplace_back(PauseTopic{Topic(format("topic-{}", i)), true});
  commit_all(group);
  EXPECT_EQ(kind_of(PauseTopic{Topic("one more"), true}), OutcomeKind::rejected);
  EXPECT_EQ(kind_of(PauseTopic{Topic("topic-0"), true}), OutcomeKind::already_done);
  EXPECT_EQ(kind_of(PauseTopic{Topic("topic-0"), false}), OutcomeKind::committed);
  EXPECT_EQ(kind_of(PauseTopic{Topic("one more"), true}), OutcomeKind::committed);
}

INSTANTIATE_TEST_SUITE_P(stores, WorkOrder, testing::ValuesIn(all_stores()), store_name);

}  // namespace

}  // namespace pawl::store
