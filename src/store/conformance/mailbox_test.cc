// Mailboxes: created by their first message, guarded like jobs.
#include "store/conformance/conformance.h"

namespace pawl::store {

namespace {

class Mailboxes : public StoreTest {
 protected:
  static core::MailboxKey key(const std::string& name = "k") { return {Namespace("default"), Topic("t"), name}; }
  core::Message signal(std::uint64_t number) { return {guid(number), core::Signal{"data"}}; }
  RunId first_message(const core::MailboxKey& to) { return commit(to_mailbox(to, signal(1), lane_)).run(); }
};

TEST_P(Mailboxes, the_first_message_makes_it_in_the_lane_named) {
  const Outcome outcome = commit(to_mailbox(key(), signal(1), other_lane_));
  ASSERT_EQ(outcome.kind, OutcomeKind::committed);
  EXPECT_EQ(core::lane_of(outcome.run()), other_lane_);
  const StoredMailbox made = mailbox(outcome.run());
  EXPECT_EQ(made.state.run, outcome.run());
  EXPECT_EQ(made.state.key, key());
  EXPECT_EQ(made.state.rev, core::Rev(0));
  EXPECT_EQ(made.state.next_entry, 0u);
  EXPECT_TRUE(made.state.entries.empty());
  ASSERT_EQ(made.inbox.size(), 1u);
  EXPECT_EQ(made.inbox[0].message, signal(1));
}

TEST_P(Mailboxes, two_first_messages_meet_in_one_mailbox) {
  const auto outcomes = commit_all({to_mailbox(key(), signal(1), lane_), to_mailbox(key(), signal(2), lane_)});
  EXPECT_EQ(outcomes[0].kind, OutcomeKind::committed);
  EXPECT_EQ(outcomes[1].kind, OutcomeKind::committed);
  EXPECT_EQ(outcomes[0].run(), outcomes[1].run());
  EXPECT_EQ(mailbox(outcomes[0].run()).inbox.size(), 2u);
}

TEST_P(Mailboxes, a_second_first_message_that_names_another_lane_finds_the_first_ones) {
  const RunId run = first_message(key());
  EXPECT_EQ(commit(to_mailbox(key(), signal(2), other_lane_)).run(), run);
}

TEST_P(Mailboxes, a_message_of_a_guid_that_waits_is_already_done_and_names_the_mailbox) {
  const RunId run = first_message(key());
  const Outcome again = commit(to_mailbox(key(), signal(1), lane_));
  EXPECT_EQ(again.kind, OutcomeKind::already_done);
  EXPECT_EQ(again.run(), run);
  EXPECT_EQ(mailbox(run).inbox.size(), 1u);
}

TEST_P(Mailboxes, namespace_topic_and_key_each_tell_mailboxes_apart) {
  const std::vector<core::MailboxKey> keys = {
      {Namespace("a"), Topic("b"), "c"}, {Namespace("a"), Topic("b"), "d"}, {Namespace("a"), Topic("d"), "c"},
      {Namespace("d"), Topic("b"), "c"}, {Namespace("a"), Topic("b"), ""},  {Namespace("a"), Topic("bc"), ""},
      {Namespace("ab"), Topic("c"), ""},
  };
  std::set<RunId> runs;
  for (const auto& one : keys) runs.insert(first_message(one));
  EXPECT_EQ(runs.size(), keys.size());
}

TEST_P(Mailboxes, a_key_may_hold_any_byte) {
  std::string bytes;
  for (int c = 0; c < 256; ++c) bytes.push_back(static_cast<char>(c));
  const RunId run = first_message(key(bytes));
  EXPECT_EQ(mailbox(run).state.key.key, bytes);
  EXPECT_EQ(*store_->find_mailbox(key(bytes)), run);
  EXPECT_FALSE(store_->find_mailbox(key(bytes.substr(0, 1)))->has_value());
}

TEST_P(Mailboxes, a_mailbox_is_found_by_its_key_and_only_once_it_was_made) {
  EXPECT_FALSE(store_->find_mailbox(key())->has_value());
  const RunId run = first_message(key());
  EXPECT_EQ(*store_->find_mailbox(key()), run);
}

TEST_P(Mailboxes, a_lane_that_does_not_exist_is_rejected_and_makes_nothing) {
  EXPECT_EQ(kind_of(to_mailbox(key(), signal(1), core::LaneId(60'000))), OutcomeKind::rejected);
  EXPECT_FALSE(store_->find_mailbox(key())->has_value());
}

TEST_P(Mailboxes, jobs_and_mailboxes_share_no_run) {
  const RunId box = first_message(key());
  const RunId run = submit("a");
  EXPECT_NE(box, run);
  EXPECT_FALSE(store_->read_job(box)->has_value());
  EXPECT_FALSE(store_->read_mailbox(run)->has_value());
}

TEST_P(Mailboxes, entries_keep_their_order_their_numbers_and_their_content) {
  const RunId run = first_message(key());
  const core::MailboxEntry registration{0, guid(5), core::Register{RunId(77), core::ActivitySeq(3)}};
  const core::MailboxEntry early{2, guid(6), core::Signal{"early"}};
  core::Bundle bundle = bundle_for_mailbox(run);
  std::get<core::MailboxHead>(bundle.head).next_entry = 3;
  bundle.writes = {core::PutEntry{registration}, core::PutEntry{early}, core::Consume{guid(1)}};
  EXPECT_EQ(kind_of(bundle), OutcomeKind::committed);
  const StoredMailbox stored = mailbox(run);
  ASSERT_EQ(stored.state.entries.size(), 2u);
  EXPECT_EQ(stored.state.entries[0], registration);
  EXPECT_EQ(stored.state.entries[1], early);
  EXPECT_EQ(stored.state.next_entry, 3u);
  EXPECT_EQ(stored.state.rev, core::Rev(1));
  EXPECT_EQ(stored.state.bundle, bundle.id);
  EXPECT_TRUE(stored.inbox.empty());
}

TEST_P(Mailboxes, a_dropped_entry_is_gone_and_a_missing_one_is_refused) {
  const RunId run = first_message(key());
  core::Bundle put = bundle_for_mailbox(run);
  std::get<core::MailboxHead>(put.head).next_entry = 2;
  put.writes = {core::PutEntry{{0, guid(5), core::Signal{"a"}}}, core::PutEntry{{1, guid(6), core::Signal{"b"}}}};
  EXPECT_EQ(kind_of(put), OutcomeKind::committed);
  core::Bundle drop = bundle_for_mailbox(run);
  drop.writes = {core::DropEntry{0}};
  EXPECT_EQ(kind_of(drop), OutcomeKind::committed);
  ASSERT_EQ(mailbox(run).state.entries.size(), 1u);
  EXPECT_EQ(mailbox(run).state.entries[0].seq, 1u);
  core::Bundle again = bundle_for_mailbox(run);
  again.writes = {core::DropEntry{0}};
  EXPECT_EQ(kind_of(again), OutcomeKind::rejected);
}

TEST_P(Mailboxes, guards_hold_as_for_jobs) {
  const RunId run = first_message(key());
  const core::Bundle late = bundle_for_mailbox(run);
  const core::Bundle first = bundle_for_mailbox(run);
  EXPECT_EQ(kind_of(first), OutcomeKind::committed);
  EXPECT_EQ(kind_of(first), OutcomeKind::already_done);
  EXPECT_EQ(kind_of(late), OutcomeKind::conflict);
  core::Bundle foreign = bundle_for_mailbox(run);
  foreign.epoch = core::next(epoch_);
  EXPECT_EQ(kind_of(foreign), OutcomeKind::fenced);
}

TEST_P(Mailboxes, a_jobs_bundle_is_refused_by_a_mailbox_and_the_other_way_round) {
  const RunId box = first_message(key());
  const RunId run = submit("a");
  core::Bundle for_box = bundle_for(run);
  for_box.entity = box;
  core::Bundle for_job = bundle_for_mailbox(box);
  for_job.entity = run;
  EXPECT_EQ(kind_of(for_box), OutcomeKind::rejected);
  EXPECT_EQ(kind_of(for_job), OutcomeKind::rejected);
}

TEST_P(Mailboxes, a_timer_waits_apart_is_listed_and_goes_when_it_is_consumed) {
  const RunId run = first_message(key());
  const Instant due = clock_.now() + lease;
  const core::Message expiry{guid(2), core::Expire{guid(1)}};
  core::Bundle put = bundle_for_mailbox(run);
  put.writes = {core::Consume{guid(1)}, core::PutMessage{expiry, due}};
  ASSERT_EQ(kind_of(put), OutcomeKind::committed);
  EXPECT_TRUE(mailbox(run).inbox.empty());
  EXPECT_EQ(mailbox(run).timers, (std::vector<core::InboxMessage>{{expiry, 0, due}}));
  EXPECT_TRUE(store_->read_waiting(lane_, RunId(0), 10)->empty()) << "a timer waits for the clock";
  const Due listed{due, run, Due::Kind::message, guid(2), core::ActivitySeq(0)};
  EXPECT_EQ(*store_->read_due(lane_, std::nullopt, 10), std::vector<Due>{listed});
  EXPECT_EQ(*store_->read_message(run, guid(2)), (core::InboxMessage{expiry, 0, due}));
  EXPECT_EQ(kind_of(to_mailbox(key(), expiry, lane_)), OutcomeKind::already_done) << "one guid, one message";

  core::Bundle again = bundle_for_mailbox(run);
  again.writes = {core::CountRedelivery{guid(2), 0}};
  ASSERT_EQ(kind_of(again), OutcomeKind::committed);
  EXPECT_EQ(mailbox(run).timers.at(0).redeliveries, 1u);
  core::Bundle wrong = bundle_for_mailbox(run);
  wrong.writes = {core::CountRedelivery{guid(2), 0}};
  EXPECT_EQ(kind_of(wrong), OutcomeKind::rejected);

  core::Bundle consume = bundle_for_mailbox(run);
  consume.writes = {core::Consume{guid(2)}};
  ASSERT_EQ(kind_of(consume), OutcomeKind::committed);
  EXPECT_FALSE(store_->read_mailbox(run)->has_value()) << "nothing is left in it";
  EXPECT_TRUE(store_->read_due(lane_, std::nullopt, 10)->empty());
}

TEST_P(Mailboxes, timers_of_mailboxes_and_jobs_are_listed_together_by_their_time) {
  const RunId box = first_message(key());
  const RunId run = submit("a");
  const auto at = [&](int seconds) { return clock_.now() + std::chrono::seconds(seconds); };
  core::Bundle put = bundle_for_mailbox(box);
  put.writes = {core::PutMessage{signal(2), at(1)}, core::PutMessage{signal(3), at(3)}};
  ASSERT_EQ(kind_of(put), OutcomeKind::committed);
  ASSERT_EQ(kind_of(bundle_with(run, {core::PutMessage{signal(4), at(2)}})), OutcomeKind::committed);
  std::vector<RunId> runs;
  const auto due = store_->read_due(lane_, std::nullopt, 10);
  for (const Due& one : *due) runs.push_back(one.run);
  EXPECT_EQ(runs, (std::vector<RunId>{box, run, box}));
  EXPECT_EQ(mailbox(box).timers.size(), 2u);
}

TEST_P(Mailboxes, goes_when_nothing_is_left_in_it_and_is_made_anew) {
  const RunId run = first_message(key());
  core::Bundle keep = bundle_for_mailbox(run);
  std::get<core::MailboxHead>(keep.head).next_entry = 1;
  keep.writes = {core::Consume{guid(1)}, core::PutEntry{{0, guid(1), core::Register{RunId(5), core::ActivitySeq(1)}}}};
  ASSERT_EQ(kind_of(keep), OutcomeKind::committed);
  EXPECT_EQ(*store_->find_mailbox(key()), run) << "somebody waits there";
  ASSERT_EQ(kind_of(to_mailbox(key(), signal(7), lane_)), OutcomeKind::committed);
  core::Bundle meet = bundle_for_mailbox(run);
  std::get<core::MailboxHead>(meet.head).next_entry = 1;
  meet.writes = {core::DropEntry{0}};
  ASSERT_EQ(kind_of(meet), OutcomeKind::committed);
  EXPECT_EQ(*store_->find_mailbox(key()), run) << "a message waits";
  core::Bundle last = bundle_for_mailbox(run);
  std::get<core::MailboxHead>(last.head).next_entry = 1;
  last.writes = {core::Consume{guid(7)}};
  ASSERT_EQ(kind_of(last), OutcomeKind::committed);
  EXPECT_FALSE(store_->find_mailbox(key())->has_value());
  EXPECT_EQ(kind_of(last), OutcomeKind::conflict) << "it may have been somebody else who emptied it";
  ASSERT_EQ(kind_of(to_mailbox(key(), signal(8), lane_)), OutcomeKind::committed);
  const auto again = store_->find_mailbox(key());
  ASSERT_TRUE(again->has_value());
  EXPECT_NE(**again, run);
  EXPECT_EQ(mailbox(**again).inbox.size(), 1u);
}

INSTANTIATE_TEST_SUITE_P(stores, Mailboxes, testing::ValuesIn(all_stores()), store_name);

}  // namespace

}  // namespace pawl::store
