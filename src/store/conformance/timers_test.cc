// Timers: messages that wait for their time, separate from those that wait for an engine.
#include "store/conformance/conformance.h"

namespace pawl::store {

namespace {

class Timers : public StoreTest {
 protected:
  Instant in(Duration time) { return clock_.now() + time; }
  OutcomeKind put(RunId run, std::uint64_t number, Instant due) {
    return kind_of(bundle_with(run, {core::PutMessage{start_message(number), due}}));
  }
  std::vector<RunId> waiting(core::LaneId lane) {
    std::vector<RunId> runs;
    const auto rows = store_->read_waiting(lane, RunId(0), 1000);
    for (const Waiting& row : *rows) runs.push_back(row.run);
    return runs;
  }
  // A job whose start was consumed: nothing of it waits.
  RunId quiet(const std::string& id) {
    const RunId run = submit(id);
    EXPECT_EQ(kind_of(bundle_with(run, {core::Consume{job(run).inbox.at(0).message.guid}})), OutcomeKind::committed);
    return run;
  }
  static constexpr Duration second = std::chrono::seconds(1);
};

TEST_P(Timers, a_timer_is_not_in_the_inbox_and_its_job_does_not_wait) {
  const RunId run = quiet("a");
  ASSERT_EQ(put(run, 1, in(second)), OutcomeKind::committed);
  EXPECT_TRUE(job(run).inbox.empty());
  EXPECT_TRUE(waiting(lane_).empty());
  const auto timers = job(run).timers;
  ASSERT_EQ(timers.size(), 1u);
  EXPECT_EQ(timers[0], (core::InboxMessage{start_message(1), 0, in(second)}));
}

TEST_P(Timers, a_timer_that_is_due_stays_a_timer_until_it_is_consumed) {
  const RunId run = quiet("a");
  put(run, 1, in(second));
  clock_.advance(second * 5);
  EXPECT_TRUE(job(run).inbox.empty());
  EXPECT_TRUE(waiting(lane_).empty());
  EXPECT_EQ(job(run).timers.size(), 1u);
}

TEST_P(Timers, a_message_due_at_zero_is_no_timer) {
  const RunId run = quiet("a");
  put(run, 1, Instant());
  EXPECT_EQ(job(run).inbox.size(), 1u);
  EXPECT_TRUE(job(run).timers.empty());
  EXPECT_EQ(waiting(lane_), std::vector<RunId>{run});
}

TEST_P(Timers, timers_are_read_by_their_time_and_then_by_guid) {
  const RunId run = quiet("a");
  put(run, 3, in(second * 2));
  put(run, 2, in(second));
  put(run, 1, in(second * 2));
  std::vector<core::Guid> order;
  for (const core::InboxMessage& timer : job(run).timers) order.push_back(timer.message.guid);
  EXPECT_EQ(order, (std::vector<core::Guid>{guid(2), guid(1), guid(3)}));
}

TEST_P(Timers, a_guid_waits_once_as_a_timer_or_in_the_inbox) {
  const RunId run = quiet("a");
  put(run, 1, in(second));
  EXPECT_EQ(put(run, 1, in(second * 9)), OutcomeKind::committed) << "putting it again does nothing";
  EXPECT_EQ(put(run, 1, Instant()), OutcomeKind::committed);
  EXPECT_EQ(kind_of(to_run(run, start_message(1))), OutcomeKind::already_done);
  EXPECT_TRUE(job(run).inbox.empty());
  ASSERT_EQ(job(run).timers.size(), 1u);
  EXPECT_EQ(job(run).timers[0].due, in(second));

  put(run, 2, Instant());
  EXPECT_EQ(put(run, 2, in(second)), OutcomeKind::committed);
  EXPECT_EQ(job(run).timers.size(), 1u);
  EXPECT_EQ(job(run).inbox.size(), 1u);
}

TEST_P(Timers, a_consumed_timer_is_gone) {
  const RunId run = quiet("a");
  put(run, 1, in(second));
  put(run, 2, in(second));
  EXPECT_EQ(kind_of(bundle_with(run, {core::Consume{guid(1)}})), OutcomeKind::committed);
  ASSERT_EQ(job(run).timers.size(), 1u);
  EXPECT_EQ(job(run).timers[0].message.guid, guid(2));
  EXPECT_EQ(store_->read_due(lane_, std::nullopt, 10)->size(), 1u);
}

TEST_P(Timers, redeliveries_of_a_timer_are_counted_under_their_guard) {
  const RunId run = quiet("a");
  put(run, 1, in(second));
  EXPECT_EQ(kind_of(bundle_with(run, {core::CountRedelivery{guid(1), 0}})), OutcomeKind::committed);
  EXPECT_EQ(kind_of(bundle_with(run, {core::CountRedelivery{guid(1), 0}})), OutcomeKind::rejected);
  EXPECT_EQ(kind_of(bundle_with(run, {core::CountRedelivery{guid(1), 1}})), OutcomeKind::committed);
  EXPECT_EQ(job(run).timers.at(0).redeliveries, 2u);
  EXPECT_EQ(job(run).timers.at(0).due, in(second));
}

TEST_P(Timers, a_sweep_takes_timers_but_the_causing_one) {
  const RunId run = quiet("a");
  for (std::uint64_t i = 1; i <= 3; ++i) put(run, i, in(second));
  EXPECT_EQ(kind_of(bundle_with(run, {core::Sweep{guid(2)}})), OutcomeKind::committed);
  ASSERT_EQ(job(run).timers.size(), 1u);
  EXPECT_EQ(job(run).timers[0].message.guid, guid(2));
  EXPECT_EQ(store_->read_due(lane_, std::nullopt, 10)->size(), 1u);
  EXPECT_EQ(kind_of(bundle_with(run, {core::Sweep{std::nullopt}})), OutcomeKind::committed);
  EXPECT_TRUE(job(run).timers.empty());
  EXPECT_TRUE(store_->read_due(lane_, std::nullopt, 10)->empty());
}

TEST_P(Timers, a_refused_bundle_puts_no_timer) {
  const RunId run = quiet("a");
  core::Bundle bundle = bundle_with(run, {core::PutMessage{start_message(1), in(second)}});
  bundle.rev_before = core::next(bundle.rev_before);
  EXPECT_EQ(kind_of(bundle), OutcomeKind::conflict);
  EXPECT_EQ(kind_of(bundle_with(run, {core::PutMessage{start_message(1), in(second)},
                                      core::DropWork{core::ActivitySeq(7), core::WorkToken(1)}})),
            OutcomeKind::conflict);
  EXPECT_TRUE(job(run).timers.empty());
  EXPECT_TRUE(store_->read_due(lane_, std::nullopt, 10)->empty());
}

TEST_P(Timers, a_message_is_read_by_its_guid_wherever_it_waits) {
  const RunId run = quiet("a");
  put(run, 1, in(second));
  put(run, 2, Instant());
  EXPECT_EQ(**store_->read_message(run, guid(1)), (core::InboxMessage{start_message(1), 0, in(second)}));
  EXPECT_EQ(**store_->read_message(run, guid(2)), (core::InboxMessage{start_message(2), 0, Instant()}));
  EXPECT_FALSE(store_->read_message(run, guid(3))->has_value());
  EXPECT_FALSE(store_->read_message(core::make_run(lane_, 4711), guid(1))->has_value());
  const RunId other = quiet("b");
  EXPECT_FALSE(store_->read_message(other, guid(1))->has_value()) << "guids belong to their run";
}

TEST_P(Timers, a_message_of_a_mailbox_is_read_by_its_guid) {
  const core::MailboxKey key{Namespace("default"), Topic("t"), "k"};
  const RunId box = commit(to_mailbox(key, start_message(1), lane_)).run();
  EXPECT_EQ((*store_->read_message(box, guid(1)))->message, start_message(1));
}

TEST_P(Timers, a_job_that_starts_later_has_its_start_as_a_timer) {
  Submit later{Namespace("default"), JobId("a"), lane_, {GraphName("g"), 1, 1}, "in", clock_.now()};
  later.start_at = in(second * 60);
  const RunId run = commit(later).run();
  EXPECT_TRUE(job(run).inbox.empty());
  EXPECT_TRUE(waiting(lane_).empty());
  ASSERT_EQ(job(run).timers.size(), 1u);
  EXPECT_EQ(job(run).timers[0], (core::InboxMessage{core::start_message(run, "in"), 0, later.start_at}));
  EXPECT_EQ(job(run).state.job.status, core::JobStatus::running);
}

TEST_P(Timers, a_job_with_a_deadline_has_it_on_its_row_and_as_a_timer) {
  Submit limited{Namespace("default"), JobId("a"), lane_, {GraphName("g"), 1, 1}, "in", clock_.now()};
  limited.deadline = in(second * 60);
  const RunId run = commit(limited).run();
  EXPECT_EQ(job(run).state.job.deadline, limited.deadline);
  EXPECT_EQ(job(run).inbox.size(), 1u) << "it starts at once";
  ASSERT_EQ(job(run).timers.size(), 1u);
  EXPECT_EQ(job(run).timers[0], (core::InboxMessage{core::deadline_message(run), 0, limited.deadline}));
  EXPECT_EQ(job(run).timers[0].message.guid, core::deadline_guid(run));
}

TEST_P(Timers, a_job_keeps_what_its_submit_said_of_it) {
  Submit order{Namespace("default"), JobId("a"), lane_, {GraphName("g"), 1, 1}, "in", clock_.now()};
  order.keep = second * 7;
  order.priority = -3;
  const core::JobRow row = job(commit(order).run()).state.job;
  EXPECT_EQ(row.keep, second * 7);
  EXPECT_EQ(row.priority, -3);
  EXPECT_EQ(row.remove_at, Instant());
  EXPECT_EQ(row.redrives, 0u);
  order.id = JobId("b");
  order.keep = Duration(0);
  EXPECT_EQ(job(commit(order).run()).state.job.keep, Duration(0)) << "not at all is not for ever";
  const auto listed = store_->list_jobs({});
  ASSERT_EQ(listed->size(), 2u);
  EXPECT_EQ((*listed)[0], row);
}

TEST_P(Timers, a_priority_or_a_time_to_keep_beyond_the_limit_is_rejected) {
  Submit order{Namespace("default"), JobId("a"), lane_, {GraphName("g"), 1, 1}, "in", clock_.now()};
  order.priority = 1'000'001;
  EXPECT_EQ(kind_of(order), OutcomeKind::rejected);
  order.priority = -1'000'001;
  EXPECT_EQ(kind_of(order), OutcomeKind::rejected);
  order.priority = 1'000'000;
  order.keep = -second;
  EXPECT_EQ(kind_of(order), OutcomeKind::rejected);
  order.keep = std::chrono::hours(24 * 365 * 101);
  EXPECT_EQ(kind_of(order), OutcomeKind::rejected);
  order.keep = second;
  EXPECT_EQ(kind_of(order), OutcomeKind::committed);
}

INSTANTIATE_TEST_SUITE_P(stores, Timers, testing::ValuesIn(all_stores()), store_name);

}  // namespace

}  // namespace pawl::store
