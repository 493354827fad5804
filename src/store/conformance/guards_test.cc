// The two guards of a bundle, and what happens when a bundle expects another state of its job.
#include "store/conformance/conformance.h"

namespace pawl::store {

namespace {

using core::Bundle;
using core::JobHead;

// --- the guards themselves

class BundleGuards : public StoreTest {};

TEST_P(BundleGuards, a_bundle_with_both_guards_right_raises_the_rev_and_leaves_its_id) {
  const RunId run = submit("a");
  const Bundle bundle = bundle_for(run);
  EXPECT_EQ(kind_of(bundle), OutcomeKind::committed);
  EXPECT_EQ(job(run).state.job.rev, core::next(bundle.rev_before));
  EXPECT_EQ(job(run).state.job.bundle, bundle.id);
}

TEST_P(BundleGuards, an_epoch_below_the_lanes_is_fenced) {
  const RunId run = submit("a");
  Bundle bundle = bundle_for(run);
  bundle.epoch = core::Epoch(epoch_.raw() - 1);
  EXPECT_EQ(kind_of(bundle), OutcomeKind::fenced);
  EXPECT_EQ(job(run).state.job.rev, core::Rev(0));
}

TEST_P(BundleGuards, an_epoch_above_the_lanes_is_fenced) {
  const RunId run = submit("a");
  Bundle bundle = bundle_for(run);
  bundle.epoch = core::next(epoch_);
  EXPECT_EQ(kind_of(bundle), OutcomeKind::fenced);
  EXPECT_EQ(job(run).state.job.rev, core::Rev(0));
}

TEST_P(BundleGuards, an_epoch_of_another_lane_does_not_help) {
  const RunId run = submit("a");
  acquire(other_lane_, "engine-a");
  const core::Epoch foreign = acquire(other_lane_, "engine-a");
  Bundle bundle = bundle_for(run);
  bundle.epoch = foreign;
  EXPECT_EQ(kind_of(bundle), OutcomeKind::fenced);
}

TEST_P(BundleGuards, a_rev_that_moved_is_a_conflict) {
  const RunId run = submit("a");
  const Bundle late = bundle_for(run);
  EXPECT_EQ(kind_of(bundle_for(run)), OutcomeKind::committed);
  EXPECT_EQ(kind_of(late), OutcomeKind::conflict);
  EXPECT_EQ(job(run).state.job.rev, core::Rev(1));
}

TEST_P(BundleGuards, a_rev_from_the_future_is_a_conflict) {
  const RunId run = submit("a");
  Bundle bundle = bundle_for(run);
  bundle.rev_before = core::Rev(1);
  EXPECT_EQ(kind_of(bundle), OutcomeKind::conflict);
  EXPECT_EQ(job(run).state.job.rev, core::Rev(0));
}

TEST_P(BundleGuards, the_same_bundle_again_is_already_done_and_changes_nothing) {
  const RunId run = submit("a");
  const Bundle bundle = bundle_with(run, {core::PutActivity{std::nullopt, activity(0)}});
  EXPECT_EQ(kind_of(bundle), OutcomeKind::committed);
  const StoredJob once = job(run);
  EXPECT_EQ(kind_of(bundle), OutcomeKind::already_done);
  EXPECT_EQ(job(run).state, once.state);
}

TEST_P(BundleGuards, a_bundle_that_was_overtaken_is_a_conflict_not_already_done) {
  const RunId run = submit("a");
  const Bundle first = bundle_for(run);
  EXPECT_EQ(kind_of(first), OutcomeKind::committed);
  EXPECT_EQ(kind_of(bundle_for(run)), OutcomeKind::committed);
  EXPECT_EQ(kind_of(first), OutcomeKind::conflict);
}

TEST_P(BundleGuards, a_new_bundle_with_the_last_ones_id_is_applied) {
  // The id alone proves nothing: it must be on the row at the bundle's own rev + 1.
  const RunId run = submit("a");
  const Bundle first = bundle_for(run);
  EXPECT_EQ(kind_of(first), OutcomeKind::committed);
  Bundle second = bundle_for(run);
  second.id = first.id;
  EXPECT_EQ(kind_of(second), OutcomeKind::committed);
  EXPECT_EQ(job(run).state.job.rev, core::Rev(2));
}

TEST_P(BundleGuards, the_last_ones_id_at_another_rev_is_a_conflict_not_already_done) {
  const RunId run = submit("a");
  const Bundle first = bundle_for(run);
  EXPECT_EQ(kind_of(first), OutcomeKind::committed);
  Bundle elsewhere = first;
  elsewhere.rev_before = core::Rev(5);
  EXPECT_EQ(kind_of(elsewhere), OutcomeKind::conflict);
}

TEST_P(BundleGuards, a_fenced_owner_is_told_so_even_when_the_rev_moved) {
  const RunId run = submit("a");
  const Bundle late = bundle_for(run);
  epoch_ = take_over(lane_, "engine-b");
  EXPECT_EQ(kind_of(bundle_for(run)), OutcomeKind::committed);
  EXPECT_EQ(kind_of(late), OutcomeKind::fenced);
}

TEST_P(BundleGuards, an_entity_that_does_not_exist_is_rejected) {
  const RunId run = submit("a");
  Bundle bundle = bundle_for(run);
  bundle.entity = core::make_run(lane_, 4711);
  const Outcome outcome = commit(bundle);
  EXPECT_EQ(outcome.kind, OutcomeKind::rejected);
  EXPECT_FALSE(outcome.reason.empty());
}

TEST_P(BundleGuards, an_entity_of_a_lane_that_does_not_exist_is_not_written) {
  const RunId run = submit("a");
  Bundle bundle = bundle_for(run);
  bundle.entity = core::make_run(core::LaneId(60'000), 1);
  const OutcomeKind kind = kind_of(bundle);
  EXPECT_TRUE(kind == OutcomeKind::fenced || kind == OutcomeKind::rejected) << name_of(kind);
}

INSTANTIATE_TEST_SUITE_P(stores, BundleGuards, testing::ValuesIn(all_stores()), store_name);

// --- before-values: a difference is corruption, refused alone and without a trace

struct Wrong {
  std::string name;
  std::function<void(Bundle&)> spoil;  // breaks a bundle that would commit
};

class BeforeValues : public StoreCaseTest<Wrong> {};

JobHead& head_of(Bundle& bundle) { return std::get<JobHead>(bundle.head); }

ledger::ActivityLedger activity_digits(std::uint64_t digits) { return *ledger::ActivityLedger::decode(digits); }
ledger::MessageLedger message_digits(std::uint64_t digits) { return *ledger::MessageLedger::decode(digits); }

template <class W>
W& write_of(Bundle& bundle) {
  for (core::Write& write : bundle.writes)
    if (auto* found = std::get_if<W>(&write)) return *found;
  std::abort();
}

const std::vector<Wrong> wrongs = {
    {"activity_exists", [](Bundle& b) { write_of<core::PutActivity>(b).before.reset(); }},
    {"activity_missing", [](Bundle& b) { write_of<core::PutActivity>(b).after.seq = core::ActivitySeq(1); }},
    {"activity_ledger_behind",
     [](Bundle& b) { write_of<core::PutActivity>(b).before = activity_digits(1'000'000'000'000); }},
    {"activity_ledger_ahead",
     [](Bundle& b) { write_of<core::PutActivity>(b).before = activity_digits(1'110'000'000'001); }},
    {"record_exists", [](Bundle& b) { write_of<core::PutRecord>(b).before.reset(); }},
    {"record_missing",
     [](Bundle& b) {
       write_of<core::PutRecord>(b).after.guid = core::Guid{5, 5};
     }},
    {"record_ledger_behind", [](Bundle& b) { write_of<core::PutRecord>(b).before = message_digits(1); }},
    {"record_ledger_ahead", [](Bundle& b) { write_of<core::PutRecord>(b).before = message_digits(11'000'000'001); }},
    {"semaphore_before", [](Bundle& b) { head_of(b).semaphore->before = 2; }},
    {"hit_claimed", [](Bundle& b) { head_of(b).semaphore->hit = true; }},
    {"hit_denied", [](Bundle& b) { head_of(b).semaphore->delta = -1; }},
    {"semaphore_below_zero", [](Bundle& b) { head_of(b).semaphore->delta = -2; }},
    {"semaphore_above_ceiling", [](Bundle& b) { head_of(b).semaphore->delta = ledger::Semaphore::open_max; }},
    {"completions_before", [](Bundle& b) { head_of(b).completions_before = 1; }},
    {"redeliveries_before", [](Bundle& b) { write_of<core::CountRedelivery>(b).before = 1; }},
};

TEST_P(BeforeValues, are_compared_and_a_difference_rejects_the_whole_bundle) {
  const RunId run = submit("a");
  const core::MessageRecord record{guid(1), core::ActivitySeq(0), message_ledger(10'000'000'001)};
  ASSERT_EQ(
      kind_of(bundle_with(run, {core::PutActivity{std::nullopt, activity(0)}, core::PutRecord{std::nullopt, record}})),
      OutcomeKind::committed);
  ASSERT_EQ(kind_of(to_run(run, start_message(2))), OutcomeKind::committed);
  const StoredJob before = job(run);

  core::MessageRecord marked = record;
  marked.ledger = message_ledger(11'000'000'001);
  Bundle bundle = bundle_with(run, {core::PutMessage{start_message(9)}, core::Consume{guid(2)},
                                    core::PutActivity{activity(0).ledger, activity(0, 1'111'000'000'001)},
                                    core::PutRecord{record.ledger, marked}, core::PutWork{work_item(run, 0)},
                                    core::CountRedelivery{before.inbox.front().message.guid, 0}});
  head_of(bundle).semaphore = core::SemaphoreStep{1, 1, 0, false};
  Bundle spoilt = bundle;
  scenario().spoil(spoilt);

  const Outcome outcome = commit(spoilt);
  EXPECT_EQ(outcome.kind, OutcomeKind::rejected);
  EXPECT_FALSE(outcome.reason.empty());
  EXPECT_EQ(job(run).state, before.state);
  EXPECT_EQ(job(run).inbox, before.inbox);
  // The test would prove nothing if the bundle could not be applied at all.
  EXPECT_EQ(kind_of(bundle), OutcomeKind::committed);
}

INSTANTIATE_TEST_SUITE_P(stores, BeforeValues,
                         testing::Combine(testing::ValuesIn(all_stores()), testing::ValuesIn(wrongs)),
                         store_case_name<Wrong>);

}  // namespace

}  // namespace pawl::store
