// What a bundle sends to another entity, and that it arrives once.
#include "store/conformance/conformance.h"

namespace pawl::store {

namespace {

using Source = Deliver::Source;

// Deliveries with a source: ordered for each source and target, and the target's lane keeps the count.
class Sources : public StoreTest {
 protected:
  OutcomeKind deliver(RunId run, std::uint64_t number, core::LaneId lane, std::uint64_t seq) {
    return kind_of(to_run(run, start_message(number), Source{lane, seq}));
  }
  std::size_t waiting(RunId run) { return job(run).inbox.size() - 1; }
};

TEST_P(Sources, the_next_row_is_accepted) {
  const RunId run = submit("a");
  for (std::uint64_t seq = 1; seq <= 5; ++seq) EXPECT_EQ(deliver(run, seq, lane_, seq), OutcomeKind::committed);
  EXPECT_EQ(waiting(run), 5u);
}

TEST_P(Sources, a_row_that_was_accepted_is_already_done_even_when_its_message_is_long_consumed) {
  const RunId run = submit("a");
  EXPECT_EQ(deliver(run, 1, lane_, 1), OutcomeKind::committed);
  EXPECT_EQ(deliver(run, 2, lane_, 2), OutcomeKind::committed);
  EXPECT_EQ(kind_of(bundle_with(run, {core::Consume{guid(1)}, core::Consume{guid(2)}})), OutcomeKind::committed);
  EXPECT_EQ(deliver(run, 1, lane_, 1), OutcomeKind::already_done);
  EXPECT_EQ(deliver(run, 2, lane_, 2), OutcomeKind::already_done);
  EXPECT_EQ(waiting(run), 0u);
}

TEST_P(Sources, a_gap_is_a_conflict_and_changes_nothing) {
  const RunId run = submit("a");
  EXPECT_EQ(deliver(run, 2, lane_, 2), OutcomeKind::conflict);
  EXPECT_EQ(waiting(run), 0u);
  EXPECT_EQ(commit(to_run(run, start_message(2), Source{lane_, 2})).taken(), 0u) << "what it has";
  EXPECT_EQ(deliver(run, 1, lane_, 1), OutcomeKind::committed);
  EXPECT_EQ(deliver(run, 3, lane_, 3), OutcomeKind::conflict);
  EXPECT_EQ(commit(to_run(run, start_message(9), Source{lane_, 9})).taken(), 1u);
  EXPECT_EQ(deliver(run, 2, lane_, 2), OutcomeKind::committed);
  EXPECT_EQ(waiting(run), 2u);
}

TEST_P(Sources, row_zero_does_not_exist) {
  const RunId run = submit("a");
  EXPECT_EQ(deliver(run, 1, lane_, 0), OutcomeKind::already_done);
  EXPECT_EQ(waiting(run), 0u);
}

TEST_P(Sources, each_lane_counts_for_itself) {
  const RunId run = submit("a");
  EXPECT_EQ(deliver(run, 1, lane_, 1), OutcomeKind::committed);
  EXPECT_EQ(deliver(run, 2, other_lane_, 2), OutcomeKind::conflict);
  EXPECT_EQ(deliver(run, 2, other_lane_, 1), OutcomeKind::committed);
  EXPECT_EQ(deliver(run, 3, lane_, 2), OutcomeKind::committed);
}

TEST_P(Sources, each_target_has_a_count_of_its_own) {
  const RunId one = submit("a");
  const RunId two = submit_to(other_lane_, "b");
  EXPECT_EQ(deliver(one, 1, lane_, 1), OutcomeKind::committed);
  EXPECT_EQ(deliver(two, 2, lane_, 2), OutcomeKind::conflict);
  EXPECT_EQ(deliver(two, 2, lane_, 1), OutcomeKind::committed);
  EXPECT_EQ(deliver(one, 3, lane_, 2), OutcomeKind::committed);
  EXPECT_EQ(deliver(one, 3, lane_, 2), OutcomeKind::already_done);
  EXPECT_EQ(waiting(one), 2u);
  EXPECT_EQ(waiting(two), 1u);
}

// Everything sent to a lane counts there, whichever entity of the lane receives it.
TEST_P(Sources, jobs_and_mailboxes_of_a_lane_share_the_count) {
  const RunId run = submit("a");
  const core::MailboxKey box{Namespace("default"), Topic("t"), "k"};
  Deliver signal = to_mailbox(box, {guid(2), core::Signal{"s"}}, lane_);
  signal.source = Source{other_lane_, 2};
  EXPECT_EQ(kind_of(signal), OutcomeKind::conflict);
  EXPECT_FALSE(store_->find_mailbox(box)->has_value()) << "a row that came too early makes nothing";
  EXPECT_EQ(deliver(run, 1, other_lane_, 1), OutcomeKind::committed);
  EXPECT_EQ(kind_of(signal), OutcomeKind::committed);
  EXPECT_EQ(deliver(run, 3, other_lane_, 3), OutcomeKind::committed);
}

TEST_P(Sources, a_row_for_a_job_that_is_gone_or_closed_still_counts) {
  const RunId closed = submit("closed");
  close(closed, core::JobStatus::completed);
  const RunId run = submit("a");
  EXPECT_EQ(deliver(core::make_run(lane_, 4711), 1, lane_, 1), OutcomeKind::committed);
  EXPECT_EQ(deliver(closed, 2, lane_, 2), OutcomeKind::committed);
  EXPECT_EQ(deliver(run, 3, lane_, 3), OutcomeKind::committed);
}

TEST_P(Sources, a_row_whose_message_waits_already_still_counts) {
  const RunId run = submit("a");
  EXPECT_EQ(kind_of(to_run(run, start_message(1))), OutcomeKind::committed);
  EXPECT_EQ(deliver(run, 1, lane_, 1), OutcomeKind::already_done);
  EXPECT_EQ(deliver(run, 2, lane_, 2), OutcomeKind::committed);
  EXPECT_EQ(waiting(run), 2u);
}

TEST_P(Sources, a_delivery_without_a_source_does_not_count) {
  const RunId run = submit("a");
  EXPECT_EQ(deliver(run, 1, lane_, 1), OutcomeKind::committed);
  EXPECT_EQ(kind_of(to_run(run, start_message(9))), OutcomeKind::committed);
  EXPECT_EQ(deliver(run, 2, lane_, 2), OutcomeKind::committed);
}

TEST_P(Sources, a_source_lane_that_does_not_exist_is_rejected) {
  const RunId run = submit("a");
  EXPECT_EQ(deliver(run, 1, core::LaneId(60'000), 1), OutcomeKind::rejected);
  EXPECT_EQ(waiting(run), 0u);
}

INSTANTIATE_TEST_SUITE_P(stores, Sources, testing::ValuesIn(all_stores()), store_name);
INSTANTIATE_TEST_SUITE_P(islands, Sources, testing::ValuesIn(island_stores()), store_name);
INSTANTIATE_TEST_SUITE_P(outbox, Sources, testing::ValuesIn(outbox_stores()), store_name);

// Sends: through the outbox or direct, depending on the store.
class Sends : public StoreTest {
 protected:
  core::Send send_to(RunId run, std::uint64_t number) { return core::Send{{run, start_message(number)}}; }

  std::vector<std::uint64_t> arrived(RunId run) {
    std::vector<std::uint64_t> numbers;
    const StoredJob stored = job(run);
    for (std::size_t i = 1; i < stored.inbox.size(); ++i) numbers.push_back(stored.inbox[i].message.guid.high);
    return numbers;
  }
};

using Numbers = std::vector<std::uint64_t>;

TEST_P(Sends, a_direct_store_delivers_with_the_senders_commit_the_others_keep_a_row) {
  const RunId from = submit("from");
  const RunId to = submit_to(other_lane_, "to");
  EXPECT_EQ(kind_of(bundle_with(from, {send_to(to, 1)})), OutcomeKind::committed);
  const std::size_t rows = store_->read_outbox(lane_, 10)->size();
  EXPECT_EQ(rows, store_->sends_directly() ? 0u : 1u);
  EXPECT_EQ(arrived(to).size(), store_->sends_directly() ? 1u : 0u);
}

TEST_P(Sends, a_message_arrives_once_and_as_it_was) {
  const RunId from = submit("from");
  const RunId to = submit_to(other_lane_, "to");
  const core::Message message{guid(1), core::Resume{core::ActivitySeq(3), guid(8), "data"}};
  EXPECT_EQ(kind_of(bundle_with(from, {core::Send{{to, message}}})), OutcomeKind::committed);
  deliver_outboxes();
  deliver_outboxes();
  ASSERT_EQ(job(to).inbox.size(), 2u);
  EXPECT_EQ(job(to).inbox[1].message, message);
}

TEST_P(Sends, messages_of_several_bundles_arrive_in_the_order_of_their_commits) {
  const RunId one = submit("one");
  const RunId two = submit("two");
  const RunId to = submit_to(other_lane_, "to");
  EXPECT_EQ(kind_of(bundle_with(one, {send_to(to, 7), send_to(to, 3)})), OutcomeKind::committed);
  EXPECT_EQ(kind_of(bundle_with(two, {send_to(to, 5)})), OutcomeKind::committed);
  EXPECT_EQ(kind_of(bundle_with(one, {send_to(to, 1)})), OutcomeKind::committed);
  deliver_outboxes();
  EXPECT_EQ(arrived(to), (Numbers{7, 3, 5, 1}));
}

TEST_P(Sends, a_job_may_send_to_itself) {
  const RunId run = submit("a");
  EXPECT_EQ(kind_of(bundle_with(run, {send_to(run, 1)})), OutcomeKind::committed);
  deliver_outboxes();
  EXPECT_EQ(arrived(run), Numbers{1});
}

TEST_P(Sends, a_send_to_a_job_that_is_gone_or_closed_hurts_nobody) {
  const RunId from = submit("from");
  const RunId closed = submit("closed");
  close(closed, core::JobStatus::failed);
  const RunId to = submit("to");
  EXPECT_EQ(
      kind_of(bundle_with(from, {send_to(core::make_run(other_lane_, 99), 1), send_to(closed, 2), send_to(to, 3)})),
      OutcomeKind::committed);
  deliver_outboxes();
  EXPECT_TRUE(job(closed).inbox.empty());
  EXPECT_EQ(arrived(to), Numbers{3});
}

TEST_P(Sends, outbox_rows_are_numbered_for_each_target_without_gaps_over_drops_and_owners) {
  if (store_->sends_directly()) GTEST_SKIP() << "this store needs no outbox";
  const RunId from = submit("from");
  const RunId here = submit("here");
  const RunId there = submit_to(other_lane_, "there");
  for (std::uint64_t round = 0; round < 4; ++round) {
    const std::uint64_t number = 1 + round * 3;
    EXPECT_EQ(
        kind_of(bundle_with(from, {send_to(here, number), send_to(there, number + 1), send_to(here, number + 2)})),
        OutcomeKind::committed);
    Numbers to_here, to_there;
    const auto rows = store_->read_outbox(lane_, 10);
    for (const OutboxRow& row : *rows) (row.lane == lane_ ? to_here : to_there).push_back(row.seq);
    EXPECT_EQ(to_here, (Numbers{1 + round * 2, 2 + round * 2}));
    EXPECT_EQ(to_there, (Numbers{1 + round}));
    deliver_outboxes();
    epoch_ = take_over(lane_, round % 2 == 0 ? "engine-b" : "engine-a");
    other_epoch_ = take_over(other_lane_, round % 2 == 0 ? "engine-b" : "engine-a");
  }
}

TEST_P(Sends, outbox_pages_hold_the_oldest_rows_of_each_target) {
  if (store_->sends_directly()) GTEST_SKIP() << "this store needs no outbox";
  const RunId from = submit("from");
  const RunId there = submit_to(other_lane_, "there");
  std::vector<core::Write> writes;
  for (std::uint64_t number = 0; number < 10; ++number) writes.emplace_back(send_to(from, number));
  writes.emplace_back(send_to(there, 10));
  EXPECT_EQ(kind_of(bundle_with(from, std::move(writes))), OutcomeKind::committed);
  const auto page = store_->read_outbox(lane_, 3);
  ASSERT_EQ(page->size(), 4u) << "a target with many rows leaves room for the others";
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ((*page)[i].seq, i + 1);
    EXPECT_EQ((*page)[i].lane, lane_);
  }
  EXPECT_EQ(page->back().seq, 1u);
  EXPECT_EQ(page->back().lane, other_lane_);
  EXPECT_TRUE(store_->read_outbox(other_lane_, 3)->empty());
}

TEST_P(Sends, a_drop_takes_the_rows_of_one_target_up_to_a_number) {
  if (store_->sends_directly()) GTEST_SKIP() << "this store needs no outbox";
  const RunId from = submit("from");
  const RunId there = submit_to(other_lane_, "there");
  EXPECT_EQ(kind_of(bundle_with(from, {send_to(from, 1), send_to(there, 2), send_to(from, 3)})),
            OutcomeKind::committed);
  EXPECT_EQ(kind_of(DropOutbox{lane_, epoch_, lane_, 1}), OutcomeKind::committed);
  EXPECT_EQ(kind_of(DropOutbox{lane_, epoch_, lane_, 1}), OutcomeKind::committed) << "twice is harmless";
  const auto left = store_->read_outbox(lane_, 10);
  ASSERT_EQ(left->size(), 2u);
  EXPECT_EQ((*left)[0].seq, 2u);
  EXPECT_EQ((*left)[0].lane, lane_);
  EXPECT_EQ((*left)[1].lane, other_lane_);
}

TEST_P(Sends, a_row_that_was_never_sent_cannot_be_dropped) {
  const RunId from = submit("from");
  EXPECT_EQ(kind_of(bundle_with(from, {send_to(from, 1)})), OutcomeKind::committed);
  EXPECT_EQ(kind_of(DropOutbox{lane_, epoch_, lane_, 2}), OutcomeKind::rejected);
  EXPECT_EQ(kind_of(DropOutbox{lane_, epoch_, other_lane_, 1}), OutcomeKind::rejected);
  EXPECT_EQ(kind_of(DropOutbox{lane_, epoch_, other_lane_, 0}), OutcomeKind::committed) << "none is none";
}

TEST_P(Sends, an_outbox_is_its_owners) {
  const RunId from = submit("from");
  EXPECT_EQ(kind_of(bundle_with(from, {send_to(from, 1)})), OutcomeKind::committed);
  EXPECT_EQ(kind_of(DropOutbox{lane_, core::Epoch(epoch_.raw() + 1), lane_, 1}), OutcomeKind::fenced);
  deliver_outboxes();
  EXPECT_EQ(arrived(from), Numbers{1});
  EXPECT_TRUE(store_->read_outbox(lane_, 10)->empty());
}

INSTANTIATE_TEST_SUITE_P(islands, Sends, testing::ValuesIn(island_stores()), store_name);
INSTANTIATE_TEST_SUITE_P(outbox, Sends, testing::ValuesIn(outbox_stores()), store_name);
INSTANTIATE_TEST_SUITE_P(stores, Sends, testing::ValuesIn(all_stores()), store_name);

}  // namespace

}  // namespace pawl::store
