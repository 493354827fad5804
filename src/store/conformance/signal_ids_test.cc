// Signals from outside: a lane remembers them, so that a repeated signal counts once.
#include "base/limits.h"
#include "store/conformance/conformance.h"

namespace pawl::store {

namespace {

class SignalIds : public StoreTest {
 protected:
  static core::MailboxKey key(const std::string& name = "k") { return {Namespace("default"), Topic("t"), name}; }
  Deliver told(std::uint64_t number, const std::string& name = "k", core::LaneId lane = core::LaneId(0)) {
    Deliver deliver =
        to_mailbox(key(name), {guid(number), core::Signal{"data"}}, lane == core::LaneId(0) ? lane_ : lane);
    deliver.remembered = true;
    return deliver;
  }
  // As its owner does: serves what waits there, and with the last message the mailbox is deleted.
  void serve(RunId run, std::uint64_t number) {
    core::Bundle bundle = bundle_for_mailbox(run);
    bundle.writes = {core::Consume{guid(number)}};
    ASSERT_EQ(kind_of(bundle), OutcomeKind::committed);
  }
};

TEST_P(SignalIds, a_signal_that_waits_is_already_done_and_names_its_mailbox) {
  const Outcome first = commit(told(1));
  ASSERT_EQ(first.kind, OutcomeKind::committed);
  const Outcome again = commit(told(1));
  EXPECT_EQ(again.kind, OutcomeKind::already_done);
  EXPECT_EQ(again.run(), first.run());
  EXPECT_EQ(mailbox(first.run()).inbox.size(), 1u);
}

TEST_P(SignalIds, so_is_one_that_its_mailbox_has_served) {
  const RunId run = commit(told(1)).run();
  serve(run, 1);
  const Outcome again = commit(told(1));
  EXPECT_EQ(again.kind, OutcomeKind::already_done);
  EXPECT_EQ(again.run(), RunId(0)) << "there is no mailbox any more";
  EXPECT_FALSE(store_->find_mailbox(key())->has_value()) << "and none is made for it";
}

TEST_P(SignalIds, in_one_group_the_second_is_already_done_too) {
  const auto outcomes = commit_all({told(1), told(1), told(2)});
  EXPECT_EQ(outcomes[0].kind, OutcomeKind::committed);
  EXPECT_EQ(outcomes[1].kind, OutcomeKind::already_done);
  EXPECT_EQ(outcomes[2].kind, OutcomeKind::committed);
}

TEST_P(SignalIds, what_a_job_sends_is_not_remembered) {
  Deliver plain = told(1);
  plain.remembered = false;
  serve(commit(plain).run(), 1);
  EXPECT_EQ(kind_of(plain), OutcomeKind::committed);
}

TEST_P(SignalIds, each_lane_remembers_its_own) {
  ASSERT_EQ(kind_of(told(1, "k", lane_)), OutcomeKind::committed);
  EXPECT_EQ(kind_of(told(1, "in the other lane", other_lane_)), OutcomeKind::committed);
}

TEST_P(SignalIds, when_its_time_is_over_it_is_a_new_one) {
  serve(commit(told(1)).run(), 1);
  clock_.advance(limits::signal_id_keep - std::chrono::seconds(1));
  EXPECT_EQ(kind_of(told(1)), OutcomeKind::already_done);
  clock_.advance(std::chrono::seconds(1));
  const Outcome later = commit(told(1));
  EXPECT_EQ(later.kind, OutcomeKind::committed);
  serve(later.run(), 1);
  EXPECT_EQ(kind_of(told(1)), OutcomeKind::already_done) << "and is remembered again";
}

// Claim: a caller that learns that the mailbox is full may try again later under the same id.
TEST_P(SignalIds, one_that_was_refused_is_not_remembered) {
  std::vector<Operation> group;
  for (std::uint64_t i = 0; i < limits::early_signals_per_mailbox_max; ++i) group.emplace_back(told(100 + i));
  const RunId run = commit_all(group).front().run();
  EXPECT_EQ(kind_of(told(1)), OutcomeKind::over_limit);
  core::Bundle bundle = bundle_for_mailbox(run);
  std::get<core::MailboxHead>(bundle.head).next_entry = 1;
  bundle.writes = {core::Consume{guid(100)}, core::PutEntry{{0, guid(100), core::Signal{"data"}}}};
  ASSERT_EQ(kind_of(bundle), OutcomeKind::committed);
  bundle = bundle_for_mailbox(run);
  std::get<core::MailboxHead>(bundle.head).next_entry = 1;
  bundle.writes = {core::DropEntry{0}};
  ASSERT_EQ(kind_of(bundle), OutcomeKind::committed);
  EXPECT_EQ(kind_of(told(1)), OutcomeKind::committed);
  EXPECT_EQ(kind_of(told(1)), OutcomeKind::already_done);
  EXPECT_EQ(kind_of(told(101)), OutcomeKind::already_done) << "of a full mailbox as well";
}

INSTANTIATE_TEST_SUITE_P(stores, SignalIds, testing::ValuesIn(all_stores()), store_name);
INSTANTIATE_TEST_SUITE_P(islands, SignalIds, testing::ValuesIn(island_stores()), store_name);

}  // namespace

}  // namespace pawl::store
