// Jobs by their id: a message creates one, once; if the id is taken, the sender gets a message; any other message goes
// to the run that has the id.
#include "base/limits.h"
#include "store/conformance/conformance.h"

namespace pawl::store {

namespace {

class Children : public StoreTest {
 protected:
  void SetUp() override {
    StoreTest::SetUp();
    parent_ = submit("parent");
  }
  static core::JobKey key(const std::string& id, const std::string& name_space = "default") {
    return {Namespace(name_space), JobId(id)};
  }
  core::StartChild start(std::uint64_t number = 1) const {
    core::StartChild made;
    made.graph = {GraphName("child"), 3, 0xfedcba9876543210};
    made.input = "in";
    made.parent = {parent_, core::ActivitySeq(4), guid(1000 + number), true};
    made.priority = 7;
    made.secret = core::JobSecret(guid(2000 + number));
    return made;
  }
  Deliver starting(const std::string& id, std::uint64_t number = 1) {
    return to_job(key(id), {guid(number), start(number)}, other_lane_);
  }
  std::optional<RunId> holder(const std::string& id) { return *store_->find_run(Namespace("default"), JobId(id)); }
  // What a run has received in addition to its own start.
  std::vector<core::Message> heard(RunId run) {
    deliver_outboxes();
    std::vector<core::Message> all;
    const StoredJob read = job(run);
    for (const core::InboxMessage& one : read.inbox)
      if (one.message.guid != core::start_message(run, "").guid) all.push_back(one.message);
    return all;
  }
  std::vector<core::Message> refusal(const std::string& id, std::uint64_t number) const {
    return {core::refused_child(start(number), JobId(id)).message};
  }

  RunId parent_{0};
};

TEST_P(Children, a_start_makes_the_job_as_a_submit_would) {
  clock_.advance(lease / 2);
  const Outcome outcome = commit(starting("child"));
  ASSERT_EQ(outcome.kind, OutcomeKind::committed) << outcome.reason;
  EXPECT_EQ(holder("child"), outcome.run());
  EXPECT_EQ(core::lane_of(outcome.run()), other_lane_);
  const StoredJob made = job(outcome.run());
  core::JobRow expected;
  expected.run = outcome.run();
  expected.name_space = Namespace("default");
  expected.id = JobId("child");
  expected.graph = start().graph;
  expected.created_at = clock_.now();
  expected.priority = 7;
  expected.parent = start().parent;
  expected.secret = start().secret;
  EXPECT_EQ(made.state.job, expected);
  ASSERT_EQ(made.inbox.size(), 1u);
  EXPECT_EQ(made.inbox[0].message, core::start_message(outcome.run(), "in"));
  EXPECT_TRUE(made.timers.empty());
  EXPECT_TRUE(heard(parent_).empty());
  EXPECT_EQ(store_->read_waiting(other_lane_, RunId(0), 10)->size(), 1u);
}

TEST_P(Children, a_child_that_nobody_awaits_says_so) {
  core::StartChild alone = start();
  alone.parent.awaits = false;
  const RunId run = commit(to_job(key("child"), {guid(1), alone}, other_lane_)).run();
  EXPECT_EQ(job(run).state.job.parent, alone.parent);
  EXPECT_EQ(store_->list_jobs({})->back().parent, alone.parent);
}

TEST_P(Children, the_same_start_twice_makes_one_child_and_refuses_none) {
  const RunId run = commit(starting("child")).run();
  const Outcome again = commit(starting("child"));
  EXPECT_EQ(again.kind, OutcomeKind::already_done);
  EXPECT_EQ(again.run(), run);
  EXPECT_TRUE(heard(parent_).empty());
  EXPECT_EQ(job(run).inbox.size(), 1u);
  ASSERT_EQ(kind_of(bundle_with(run, {core::Consume{job(run).inbox[0].message.guid}})), OutcomeKind::committed);
  EXPECT_EQ(kind_of(starting("child")), OutcomeKind::already_done) << "the child has begun meanwhile";
  close(run, core::JobStatus::completed);
  EXPECT_EQ(kind_of(starting("child")), OutcomeKind::already_done) << "the child has ended meanwhile";
  EXPECT_TRUE(heard(parent_).empty());
  EXPECT_TRUE(job(run).inbox.empty());
}

TEST_P(Children, both_in_one_group_make_one_child) {
  const auto outcomes = commit_all({starting("child"), starting("child"), starting("child", 2)});
  EXPECT_EQ(outcomes[0].kind, OutcomeKind::committed);
  EXPECT_EQ(outcomes[1].kind, OutcomeKind::already_done);
  EXPECT_EQ(outcomes[1].run(), outcomes[0].run());
  EXPECT_EQ(outcomes[2].kind, OutcomeKind::committed);
  EXPECT_EQ(outcomes[2].run(), parent_);
  EXPECT_EQ(heard(parent_), refusal("child", 2));
}

TEST_P(Children, a_taken_id_makes_nothing_and_the_parent_hears_of_it) {
  const RunId other = submit_to(other_lane_, "child");
  const std::size_t jobs = store_->list_jobs({})->size();
  const Outcome outcome = commit(starting("child"));
  EXPECT_EQ(outcome.kind, OutcomeKind::committed);
  EXPECT_EQ(outcome.run(), parent_) << "it will have something to do";
  EXPECT_EQ(holder("child"), other);
  EXPECT_EQ(store_->list_jobs({})->size(), jobs);
  EXPECT_EQ(job(other).inbox.size(), 1u);
  EXPECT_EQ(kind_of(starting("child")), OutcomeKind::already_done) << "the refusal is on its way, or there";
  EXPECT_EQ(heard(parent_), refusal("child", 1));
  EXPECT_TRUE(commit(starting("child")).done());
  EXPECT_EQ(heard(parent_), refusal("child", 1)) << "it waits already";
}

TEST_P(Children, a_parent_may_have_two_children_but_not_of_one_id) {
  const RunId one = commit(starting("one", 1)).run();
  const RunId two = commit(starting("two", 2)).run();
  EXPECT_NE(one, two);
  EXPECT_EQ(kind_of(starting("one", 3)), OutcomeKind::committed);
  EXPECT_EQ(heard(parent_), refusal("one", 3));
}

TEST_P(Children, the_id_of_a_closed_or_removed_run_is_taken_until_its_key_expires) {
  const RunId other = submit_to(other_lane_, "child");
  end(other);
  EXPECT_EQ(commit(starting("child", 1)).run(), parent_);
  ASSERT_EQ(kind_of(RemoveJob{other, clock_.now() + lease}), OutcomeKind::committed);
  EXPECT_EQ(commit(starting("child", 2)).run(), parent_);
  EXPECT_EQ(heard(parent_).size(), 2u);
  clock_.advance(lease);
  const Outcome made = commit(starting("child", 3));
  EXPECT_EQ(made.kind, OutcomeKind::committed);
  EXPECT_EQ(holder("child"), made.run());
  EXPECT_NE(made.run(), other);
  EXPECT_EQ(heard(parent_).size(), 2u);
  EXPECT_TRUE(store_->read_due(other_lane_, std::nullopt, 10)->empty()) << "the key does not expire any more";
}

TEST_P(Children, a_parent_that_is_closed_or_gone_takes_no_refusal) {
  submit_to(other_lane_, "child");
  close(parent_, core::JobStatus::failed);
  EXPECT_EQ(kind_of(starting("child", 1)), OutcomeKind::committed);
  deliver_outboxes();
  EXPECT_TRUE(job(parent_).inbox.empty());
  core::Bundle done = bundle_for(parent_);
  std::get<core::JobHead>(done.head).completions = 1;
  ASSERT_EQ(kind_of(done), OutcomeKind::committed);
  ASSERT_EQ(kind_of(RemoveJob{parent_, Instant()}), OutcomeKind::committed);
  EXPECT_EQ(kind_of(starting("child", 2)), OutcomeKind::committed);
  deliver_outboxes();
  EXPECT_FALSE(store_->read_job(parent_)->has_value());
}

TEST_P(Children, a_child_of_a_removed_parent_is_made_and_knows_it) {
  end(parent_);
  ASSERT_EQ(kind_of(RemoveJob{parent_, Instant()}), OutcomeKind::committed);
  const RunId run = commit(starting("child")).run();
  EXPECT_EQ(job(run).state.job.parent, start().parent);
}

TEST_P(Children, a_lane_that_does_not_exist_is_rejected_and_takes_no_id) {
  Deliver nowhere = starting("child");
  nowhere.lane = core::LaneId(60'000);
  EXPECT_EQ(kind_of(nowhere), OutcomeKind::rejected);
  EXPECT_FALSE(holder("child").has_value());
  EXPECT_EQ(kind_of(starting("child")), OutcomeKind::committed);
}

TEST_P(Children, limits_hold_as_for_a_submit) {
  core::StartChild heavy = start();
  heavy.priority = limits::priority_max + 1;
  EXPECT_EQ(kind_of(to_job(key("child"), {guid(1), heavy}, lane_)), OutcomeKind::rejected);
  core::EndJob end_job;
  end_job.reason = std::string(limits::reason_bytes_max + 1, 'r');
  EXPECT_EQ(kind_of(to_job(key("parent"), {guid(2), end_job}, lane_)), OutcomeKind::rejected);
  end_job.reason.clear();
  end_job.keep = Duration(-1);
  EXPECT_EQ(kind_of(to_job(key("parent"), {guid(2), end_job}, lane_)), OutcomeKind::rejected);
  EXPECT_FALSE(holder("child").has_value());
  EXPECT_TRUE(heard(parent_).empty());
}

TEST_P(Children, namespaces_keep_their_ids_apart) {
  submit_to(lane_, "child", "other");
  EXPECT_EQ(kind_of(starting("child")), OutcomeKind::committed);
  EXPECT_TRUE(heard(parent_).empty());
  EXPECT_EQ(commit(to_job(key("child", "other"), {guid(2), start(2)}, lane_)).run(), parent_);
}

TEST_P(Children, any_other_message_goes_to_the_run_that_has_the_id_now) {
  const core::Message end_it{guid(5), core::EndJob{parent_, 410, "why", true, false, std::nullopt}};
  EXPECT_EQ(commit(to_job(key("child"), end_it, other_lane_)).run(), RunId(0)) << "nobody has it yet";
  const RunId run = commit(starting("child")).run();
  const Outcome sent = commit(to_job(key("child"), end_it, other_lane_));
  EXPECT_EQ(sent.kind, OutcomeKind::committed);
  EXPECT_EQ(sent.run(), run);
  EXPECT_EQ(kind_of(to_job(key("child"), end_it, other_lane_)), OutcomeKind::already_done);
  EXPECT_EQ(heard(run), std::vector<core::Message>{end_it});
  Submit again{Namespace("default"), JobId("child"), other_lane_, {GraphName("g"), 1, 1}, "", clock_.now()};
  again.reuse = Reuse::replace;
  const RunId next = commit(again).run();
  EXPECT_EQ(commit(to_job(key("child"), end_it, other_lane_)).run(), next);
  EXPECT_EQ(heard(next), std::vector<core::Message>{end_it});
}

TEST_P(Children, a_message_for_a_run_that_is_closed_or_gone_has_no_effect) {
  const RunId run = commit(starting("child")).run();
  end(run);
  EXPECT_EQ(kind_of(to_job(key("child"), start_message(5), other_lane_)), OutcomeKind::committed);
  EXPECT_TRUE(job(run).inbox.empty());
  ASSERT_EQ(kind_of(RemoveJob{run, clock_.now() + lease}), OutcomeKind::committed);
  EXPECT_EQ(kind_of(to_job(key("child"), start_message(5), other_lane_)), OutcomeKind::committed);
  EXPECT_FALSE(store_->read_job(run)->has_value());
}

TEST_P(Children, a_source_counts_starts_and_refusals_alike) {
  submit_to(other_lane_, "taken");
  const auto row = [&](Deliver deliver, std::uint64_t seq) {
    deliver.source = Deliver::Source{lane_, seq};
    return kind_of(deliver);
  };
  EXPECT_EQ(row(starting("child", 1), 1), OutcomeKind::committed);
  EXPECT_EQ(row(starting("taken", 2), 2), OutcomeKind::committed);
  EXPECT_EQ(row(starting("late", 3), 4), OutcomeKind::conflict);
  EXPECT_EQ(row(starting("taken", 2), 2), OutcomeKind::already_done);
  EXPECT_EQ(row(starting("child", 1), 1), OutcomeKind::already_done);
  Deliver nowhere = starting("late", 3);
  nowhere.lane = core::LaneId(60'000);
  EXPECT_EQ(row(nowhere, 3), OutcomeKind::rejected);
  EXPECT_EQ(row(starting("late", 3), 3), OutcomeKind::committed) << "a rejected row was not taken";
  EXPECT_EQ(heard(parent_), refusal("taken", 2));
}

INSTANTIATE_TEST_SUITE_P(stores, Children, testing::ValuesIn(all_stores()), store_name);
INSTANTIATE_TEST_SUITE_P(islands, Children, testing::ValuesIn(island_stores()), store_name);
INSTANTIATE_TEST_SUITE_P(outbox, Children, testing::ValuesIn(outbox_stores()), store_name);

// The same by a bundle of the parent: with its commit, or through the outbox.
class SentByKey : public Children {
 protected:
  core::Send sending(const std::string& id, std::uint64_t number = 1) {
    return core::Send{{key(id), {guid(number), start(number)}}, other_lane_};
  }
  static core::MailboxKey box() { return {Namespace("default"), Topic("t"), "k"}; }
  core::Send signalling(core::LaneId lane) { return core::Send{{box(), {guid(9), core::Signal{"s"}}}, lane}; }
  // The runs that received it: by the commit itself, or by the lane owner's delivery after it.
  std::vector<RunId> deliver_outbox(const Outcome& sent) {
    std::vector<RunId> reached = sent.reached();
    for (const RunId run : deliver_outboxes()) reached.push_back(run);
    return reached;
  }
};

TEST_P(SentByKey, children_and_mailboxes_are_made_in_the_lane_the_send_names) {
  const Outcome sent = commit(bundle_with(parent_, {sending("child"), signalling(other_lane_)}));
  ASSERT_EQ(sent.kind, OutcomeKind::committed) << sent.reason;
  const std::vector<RunId> reached = deliver_outbox(sent);
  const auto mailbox_run = *store_->find_mailbox(box());
  ASSERT_TRUE(holder("child").has_value());
  ASSERT_TRUE(mailbox_run.has_value());
  EXPECT_EQ(reached, (std::vector<RunId>{*holder("child"), *mailbox_run}));
  EXPECT_EQ(core::lane_of(*holder("child")), other_lane_);
  EXPECT_EQ(core::lane_of(*mailbox_run), other_lane_);
  EXPECT_EQ(job(*holder("child")).state.job.parent, start().parent);
  EXPECT_EQ(mailbox(*mailbox_run).inbox.size(), 1u);
}

TEST_P(SentByKey, a_taken_id_comes_back_to_the_sender) {
  submit_to(other_lane_, "child");
  const Outcome sent = commit(bundle_with(parent_, {sending("child")}));
  ASSERT_EQ(sent.kind, OutcomeKind::committed);
  EXPECT_EQ(deliver_outbox(sent), std::vector<RunId>{parent_});
  EXPECT_EQ(heard(parent_), refusal("child", 1));
}

// A refusal goes the same way as every message: no operation writes into a lane other than its own.
TEST_P(Children, a_refusal_waits_in_the_outbox_of_the_lane_where_the_id_is_taken) {
  submit_to(other_lane_, "child");
  ASSERT_EQ(kind_of(starting("child")), OutcomeKind::committed);
  const auto rows = store_->read_outbox(other_lane_, 10);
  if (store_->sends_directly()) {
    EXPECT_TRUE(rows->empty());
  } else {
    ASSERT_EQ(rows->size(), 1u);
    EXPECT_EQ(rows->front().envelope, core::refused_child(start(), JobId("child")));
    EXPECT_EQ(rows->front().lane, lane_);
    EXPECT_EQ(rows->front().seq, 1u);
    EXPECT_EQ(job(parent_).inbox.size(), 1u) << "its own start";
  }
  EXPECT_EQ(heard(parent_), refusal("child", 1));
}

TEST_P(SentByKey, a_sender_that_closes_with_the_same_bundle_hears_no_refusal) {
  submit_to(other_lane_, "child");
  core::Bundle bundle = bundle_with(parent_, {core::Sweep{std::nullopt}, sending("child")});
  std::get<core::JobHead>(bundle.head).status = core::JobStatus::completed;
  const Outcome sent = commit(bundle);
  ASSERT_EQ(sent.kind, OutcomeKind::committed);
  deliver_outbox(sent);
  EXPECT_TRUE(job(parent_).inbox.empty());
}

TEST_P(SentByKey, a_repeated_bundle_sends_nothing_again) {
  const core::Bundle bundle = bundle_with(parent_, {sending("child")});
  const Outcome sent = commit(bundle);
  EXPECT_EQ(kind_of(bundle), OutcomeKind::already_done);
  deliver_outbox(sent);
  EXPECT_TRUE(heard(parent_).empty());
  EXPECT_EQ(job(*holder("child")).inbox.size(), 1u);
}

TEST_P(SentByKey, a_message_by_id_arrives_once) {
  const RunId to = submit_to(other_lane_, "to");
  const core::Message message{guid(5), core::EndJob{std::nullopt, 410, "why", false, true, lease}};
  const Outcome sent = commit(bundle_with(parent_, {core::Send{{key("to"), message}, other_lane_}}));
  ASSERT_EQ(sent.kind, OutcomeKind::committed) << sent.reason;
  EXPECT_EQ(deliver_outbox(sent), std::vector<RunId>{to});
  EXPECT_EQ(heard(to), std::vector<core::Message>{message});
}

TEST_P(SentByKey, what_is_sent_to_a_key_must_have_a_lane_whether_or_not_somebody_has_the_key) {
  commit(to_mailbox(box(), {guid(1), core::Signal{}}, lane_));
  submit_to(other_lane_, "taken");
  for (const core::LaneId nowhere : {core::LaneId(0), core::LaneId(60'000)}) {
    core::Send child = sending("child");
    core::Send taken = sending("taken");
    child.lane = taken.lane = nowhere;
    const core::Send by_id{{key("taken"), start_message(4)}, nowhere};
    for (const core::Send& send : {child, taken, signalling(nowhere), by_id})
      EXPECT_EQ(kind_of(bundle_with(parent_, {core::PutMessage{start_message(3)}, send})), OutcomeKind::rejected);
  }
  EXPECT_EQ(job(parent_).state.job.rev, core::Rev(0));
  EXPECT_TRUE(heard(parent_).empty());
  EXPECT_FALSE(holder("child").has_value());
  EXPECT_TRUE(store_->read_outbox(lane_, 10)->empty());
}

TEST_P(SentByKey, a_mailbox_sends_by_key_too) {
  const RunId from = commit(to_mailbox(box(), {guid(1), core::Signal{}}, lane_)).run();
  core::Bundle bundle = bundle_for_mailbox(from);
  bundle.writes = {core::Send{{key("parent"), start_message(5)}, lane_}};
  const Outcome sent = commit(bundle);
  ASSERT_EQ(sent.kind, OutcomeKind::committed) << sent.reason;
  EXPECT_EQ(deliver_outbox(sent), std::vector<RunId>{parent_});
  EXPECT_EQ(heard(parent_).size(), 1u);
}

INSTANTIATE_TEST_SUITE_P(stores, SentByKey, testing::ValuesIn(all_stores()), store_name);
INSTANTIATE_TEST_SUITE_P(islands, SentByKey, testing::ValuesIn(island_stores()), store_name);
INSTANTIATE_TEST_SUITE_P(outbox, SentByKey, testing::ValuesIn(outbox_stores()), store_name);

}  // namespace

}  // namespace pawl::store
