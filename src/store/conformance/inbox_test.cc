// Inboxes: delivery, duplicates, redelivery counts, consumption and sweeping.
#include "store/conformance/conformance.h"

namespace pawl::store {

namespace {

class Inboxes : public StoreTest {
 protected:
  OutcomeKind deliver(RunId run, core::Message message) { return kind_of(to_run(run, std::move(message))); }
  // The guid numbers that wait, without the start message.
  std::vector<std::uint64_t> waiting(RunId run) {
    std::vector<std::uint64_t> numbers;
    const StoredJob stored = job(run);
    for (const core::InboxMessage& one : stored.inbox)
      if (one.message.guid == guid(one.message.guid.high)) numbers.push_back(one.message.guid.high);
    return numbers;
  }
};

using Numbers = std::vector<std::uint64_t>;

TEST_P(Inboxes, messages_wait_in_order_of_arrival_whatever_their_guids) {
  const RunId run = submit("a");
  for (const std::uint64_t number : {5, 1, 9, 3})
    EXPECT_EQ(deliver(run, start_message(number)), OutcomeKind::committed);
  EXPECT_EQ(waiting(run), (Numbers{5, 1, 9, 3}));
}

TEST_P(Inboxes, a_guid_that_waits_already_is_already_done_and_keeps_its_first_content) {
  const RunId run = submit("a");
  EXPECT_EQ(deliver(run, start_message(5, "first")), OutcomeKind::committed);
  EXPECT_EQ(deliver(run, start_message(5, "second")), OutcomeKind::already_done);
  ASSERT_EQ(job(run).inbox.size(), 2u);
  EXPECT_EQ(job(run).inbox[1].message, start_message(5, "first"));
}

TEST_P(Inboxes, two_jobs_may_have_a_message_of_one_guid) {
  const RunId one = submit("a");
  const RunId two = submit("b");
  EXPECT_EQ(deliver(one, start_message(5)), OutcomeKind::committed);
  EXPECT_EQ(deliver(two, start_message(5)), OutcomeKind::committed);
  EXPECT_EQ(waiting(two), Numbers{5});
}

TEST_P(Inboxes, a_delivery_needs_no_epoch_and_does_not_move_the_rev) {
  const RunId run = submit("a");
  EXPECT_EQ(kind_of(ReleaseLane{lane_, epoch_}), OutcomeKind::committed);
  EXPECT_EQ(deliver(run, start_message(5)), OutcomeKind::committed);
  EXPECT_EQ(job(run).state.job.rev, core::Rev(0));
}

TEST_P(Inboxes, a_delivery_does_not_disturb_a_bundle_that_is_on_its_way) {
  const RunId run = submit("a");
  const core::Bundle bundle = bundle_for(run);
  EXPECT_EQ(deliver(run, start_message(5)), OutcomeKind::committed);
  EXPECT_EQ(kind_of(bundle), OutcomeKind::committed);
  EXPECT_EQ(waiting(run), Numbers{5});
}

TEST_P(Inboxes, a_run_that_is_gone_takes_nothing_and_nobody_is_hurt) {
  EXPECT_EQ(deliver(core::make_run(lane_, 4711), start_message(5)), OutcomeKind::committed);
  EXPECT_FALSE(store_->read_job(core::make_run(lane_, 4711))->has_value());
  EXPECT_TRUE(store_->read_waiting(lane_, RunId(0), 10)->empty());
}

TEST_P(Inboxes, a_closed_job_takes_nothing) {
  for (const auto status : {core::JobStatus::completed, core::JobStatus::failed, core::JobStatus::interrupted}) {
    const RunId run = submit(std::string(name_of(status)));
    close(run, status);
    EXPECT_EQ(deliver(run, start_message(5)), OutcomeKind::committed);
    EXPECT_TRUE(job(run).inbox.empty()) << name_of(status);
  }
}

TEST_P(Inboxes, a_parked_job_still_takes_messages) {
  const RunId run = submit("a");
  core::Bundle bundle = bundle_for(run);
  std::get<core::JobHead>(bundle.head).status = core::JobStatus::parked;
  EXPECT_EQ(kind_of(bundle), OutcomeKind::committed);
  EXPECT_EQ(deliver(run, start_message(5)), OutcomeKind::committed);
  EXPECT_EQ(waiting(run), Numbers{5});
}

TEST_P(Inboxes, every_kind_of_message_comes_back_as_it_was) {
  const RunId run = submit("a");
  const auto at = *ledger::Dimensions::parse(",0,3,12");
  const std::vector<core::Body> bodies = {
      core::Start{"input"},
      core::Transition{7, at, core::ActivitySeq(3), "input"},
      core::Reply{core::ActivitySeq(2), core::ReplyStatus::error, -500, core::WorkToken(1), "data"},
      core::Register{RunId(~std::uint64_t{0} >> 1), core::ActivitySeq(9)},
      core::Signal{"signal", core::ReplyStatus::error, -404},
      core::Resume{core::ActivitySeq(4), core::Guid{~std::uint64_t{0}, 1}, "data", core::ReplyStatus::pending, 202},
      core::NoReply{core::ActivitySeq(5), core::WorkToken(1), core::NoReply::Why::lost},
      core::Interrupt{-410, "why"},
      core::Pause{"why"},
      core::Proceed{},
      core::Redrive{},
      core::Verdict{core::ActivitySeq(6), core::Verdict::Kind::retry, -1, "data"},
      core::TimeUp{core::ActivitySeq(6), core::TimeUp::What::timeout},
      core::Reenter{core::ActivitySeq(7), "data"},
      core::Arrive{3, at, core::ActivitySeq(8), 2, true},
      core::Item{core::ActivitySeq(9), 4, true},
      core::StartChild{
          {GraphName("g"), 2, ~std::uint64_t{0}}, "input", {run, core::ActivitySeq(1), guid(77), false}, -5},
      core::ChildDone{core::ActivitySeq(10), core::ReplyStatus::fatal, -409, "data"},
      core::EndJob{run, -410, "why", false, true, std::chrono::seconds(5)},
      core::Withdraw{guid(78)},
      core::Expire{guid(79)},
      core::Expand{core::ActivitySeq(11),
                   GraphName("g"),
                   {"k", "n", "v"},
                   run,
                   3,
                   300,
                   true,
                   Topic("t"),
                   "data",
                   core::ReplyStatus::pending,
                   202},
      core::Unlabel{{"k", "n", "v"}},
      core::Taken{guid(80), guid(81)},
      core::Refused{core::ActivitySeq(12), core::ReplyStatus::error, -422, "data"},
      core::GiveAnswer{core::ActivitySeq(13), -201, "data"},
      core::DropSignal{core::Guid{~std::uint64_t{0}, 2}},
      core::Cancel{410, "the customer left"},
  };
  ASSERT_EQ(bodies.size(), std::variant_size_v<core::Body>);
  for (std::size_t i = 0; i < bodies.size(); ++i) EXPECT_EQ(deliver(run, {guid(i), bodies[i]}), OutcomeKind::committed);
  const StoredJob stored = job(run);
  ASSERT_EQ(stored.inbox.size(), bodies.size() + 1);
  for (std::size_t i = 0; i < bodies.size(); ++i)
    EXPECT_EQ(stored.inbox[i + 1].message, (core::Message{guid(i), bodies[i]}));
}

TEST_P(Inboxes, guids_use_all_their_bits) {
  const RunId run = submit("a");
  const std::uint64_t top = std::uint64_t{1} << 63;
  const std::vector<core::Guid> guids = {{0, 0},       {top, 0},   {0, top},
                                         {~top, ~top}, {top, top}, {~std::uint64_t{0}, ~std::uint64_t{0}}};
  for (const core::Guid& one : guids) EXPECT_EQ(deliver(run, {one, core::Start{}}), OutcomeKind::committed);
  const StoredJob stored = job(run);
  ASSERT_EQ(stored.inbox.size(), guids.size() + 1);
  for (std::size_t i = 0; i < guids.size(); ++i) EXPECT_EQ(stored.inbox[i + 1].message.guid, guids[i]);
}

TEST_P(Inboxes, a_consumed_message_is_gone_and_the_others_stay_in_order) {
  const RunId run = submit("a");
  for (const std::uint64_t number : {1, 2, 3}) deliver(run, start_message(number));
  EXPECT_EQ(kind_of(bundle_with(run, {core::Consume{guid(2)}})), OutcomeKind::committed);
  EXPECT_EQ(waiting(run), (Numbers{1, 3}));
}

TEST_P(Inboxes, consuming_a_message_that_is_gone_does_nothing) {
  // A Sweep may have deleted it while an engine still had it in memory.
  const RunId run = submit("a");
  deliver(run, start_message(1));
  EXPECT_EQ(kind_of(bundle_with(run, {core::Consume{guid(7)}, core::CountRedelivery{guid(8), 0}})),
            OutcomeKind::committed);
  EXPECT_EQ(waiting(run), Numbers{1});
}

TEST_P(Inboxes, redeliveries_are_counted_one_by_one) {
  const RunId run = submit("a");
  deliver(run, start_message(1));
  deliver(run, start_message(2));
  for (std::uint32_t before = 0; before < 12; ++before)
    EXPECT_EQ(kind_of(bundle_with(run, {core::CountRedelivery{guid(1), before}})), OutcomeKind::committed);
  EXPECT_EQ(job(run).inbox[1].redeliveries, 12u);
  EXPECT_EQ(job(run).inbox[2].redeliveries, 0u);
}

TEST_P(Inboxes, a_redelivery_is_not_counted_twice_by_a_repeated_bundle) {
  const RunId run = submit("a");
  deliver(run, start_message(1));
  const core::Bundle bundle = bundle_with(run, {core::CountRedelivery{guid(1), 0}});
  EXPECT_EQ(kind_of(bundle), OutcomeKind::committed);
  EXPECT_EQ(kind_of(bundle), OutcomeKind::already_done);
  EXPECT_EQ(job(run).inbox[1].redeliveries, 1u);
}

TEST_P(Inboxes, a_bundle_may_put_a_message_into_its_own_inbox) {
  const RunId run = submit("a");
  deliver(run, start_message(1));
  EXPECT_EQ(kind_of(bundle_with(run, {core::PutMessage{start_message(2)}})), OutcomeKind::committed);
  EXPECT_EQ(waiting(run), (Numbers{1, 2}));
}

TEST_P(Inboxes, a_put_of_a_guid_that_waits_already_changes_nothing) {
  const RunId run = submit("a");
  deliver(run, start_message(1, "first"));
  EXPECT_EQ(kind_of(bundle_with(run, {core::PutMessage{start_message(1, "second")}})), OutcomeKind::committed);
  EXPECT_EQ(job(run).inbox[1].message, start_message(1, "first"));
}

TEST_P(Inboxes, a_sweep_keeps_only_the_causing_message) {
  const RunId run = submit("a");
  for (const std::uint64_t number : {1, 2, 3}) deliver(run, start_message(number));
  EXPECT_EQ(kind_of(bundle_with(run, {core::Sweep{guid(2)}})), OutcomeKind::committed);
  ASSERT_EQ(job(run).inbox.size(), 1u);
  EXPECT_EQ(waiting(run), Numbers{2});
}

TEST_P(Inboxes, a_sweep_without_a_cause_empties_the_inbox_and_the_work) {
  const RunId run = submit("a");
  enqueue(run, 3);
  deliver(run, start_message(1));
  EXPECT_EQ(kind_of(bundle_with(run, {core::Sweep{std::nullopt}})), OutcomeKind::committed);
  EXPECT_TRUE(job(run).inbox.empty());
  EXPECT_TRUE(job(run).state.work().empty());
  EXPECT_TRUE(store_->read_work(lane_, {}, 10)->empty());
  EXPECT_TRUE(commit(ClaimWork{{Topic("topic")}, 10, "w", lease}).items().empty());
}

TEST_P(Inboxes, a_sweep_also_takes_what_its_own_bundle_put_before_it) {
  // Fusion: one message spawned a child, the next one failed the job.
  const RunId run = submit("a");
  EXPECT_EQ(kind_of(bundle_with(run, {core::PutActivity{std::nullopt, activity(0)}, core::PutWork{work_item(run, 0)},
                                      core::PutMessage{start_message(1)}, core::Sweep{std::nullopt}})),
            OutcomeKind::committed);
  EXPECT_TRUE(job(run).inbox.empty());
  EXPECT_TRUE(commit(ClaimWork{{Topic("topic")}, 10, "w", lease}).items().empty());
}

TEST_P(Inboxes, a_sweep_leaves_other_jobs_alone) {
  const RunId one = submit("a");
  const RunId two = submit("b");
  enqueue(two, 2);
  deliver(two, start_message(1));
  EXPECT_EQ(kind_of(bundle_with(one, {core::Sweep{std::nullopt}})), OutcomeKind::committed);
  EXPECT_EQ(waiting(two), Numbers{1});
  EXPECT_EQ(store_->read_work(lane_, {}, 10)->size(), 2u);
}

TEST_P(Inboxes, a_fan_in_of_ten_thousand_is_consumed_by_one_bundle) {
  const RunId run = submit("a");
  std::vector<Operation> group;
  std::vector<core::Write> writes;
  for (std::uint64_t number = 0; number < 10'000; ++number) {
    group.emplace_back(to_run(run, start_message(number)));
    writes.emplace_back(core::Consume{guid(number)});
  }
  commit_all(group);
  EXPECT_EQ(waiting(run).size(), 10'000u);
  EXPECT_EQ(kind_of(bundle_with(run, std::move(writes))), OutcomeKind::committed);
  EXPECT_TRUE(waiting(run).empty());
}

INSTANTIATE_TEST_SUITE_P(stores, Inboxes, testing::ValuesIn(all_stores()), store_name);

}  // namespace

}  // namespace pawl::store
