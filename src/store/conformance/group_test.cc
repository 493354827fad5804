// Many operations in one commit: each is answered separately, in order, and one that cannot be applied is refused
// alone.
#include "base/limits.h"
#include "store/conformance/conformance.h"

namespace pawl::store {

namespace {

class Groups : public StoreTest {};

TEST_P(Groups, an_empty_group_is_answered_with_nothing) { EXPECT_TRUE(commit_all({}).empty()); }

TEST_P(Groups, later_operations_see_what_earlier_ones_did) {
  const Submit submit_a{Namespace("default"), JobId("a"), lane_, {GraphName("g"), 1, 1}, "", clock_.now()};
  const auto outcomes = commit_all({submit_a, submit_a, AcquireLane{lane_, "engine-a", lease}});
  EXPECT_EQ(outcomes[0].kind, OutcomeKind::committed);
  EXPECT_EQ(outcomes[1].kind, OutcomeKind::exists);
  EXPECT_EQ(outcomes[1].run(), outcomes[0].run());
  EXPECT_EQ(outcomes[2].epoch(), core::next(epoch_));
}

TEST_P(Groups, a_lane_taken_in_the_group_fences_the_bundles_after_it) {
  const RunId run = submit("a");
  const RunId other = submit("b");
  const auto outcomes = commit_all({bundle_for(run), AcquireLane{lane_, "engine-a", lease}, bundle_for(other)});
  EXPECT_EQ(outcomes[0].kind, OutcomeKind::committed);
  EXPECT_EQ(outcomes[1].kind, OutcomeKind::committed);
  EXPECT_EQ(outcomes[2].kind, OutcomeKind::fenced);
}

TEST_P(Groups, every_outcome_kind_can_stand_in_one_group) {
  const RunId done = submit("done");
  const RunId moved = submit("moved");
  const RunId fine = submit("fine");
  const RunId poison = submit("poison");
  const RunId foreign = submit_to(other_lane_, "foreign");
  const core::Bundle repeated = bundle_for(done);
  ASSERT_EQ(kind_of(repeated), OutcomeKind::committed);
  const core::Bundle late = bundle_for(moved);
  ASSERT_EQ(kind_of(bundle_for(moved)), OutcomeKind::committed);
  core::Bundle fenced = bundle_for(foreign);
  fenced.epoch = core::next(other_epoch_);
  core::Bundle spoilt = bundle_for(poison);
  std::get<core::JobHead>(spoilt.head).completions_before = 1;
  const Submit taken{Namespace("default"), JobId("fine"), lane_, {GraphName("g"), 1, 1}, "", clock_.now()};

  const auto outcomes = commit_all({repeated, late, fenced, spoilt, taken, bundle_for(fine)});
  const std::vector<OutcomeKind> expected = {OutcomeKind::already_done, OutcomeKind::conflict, OutcomeKind::fenced,
                                             OutcomeKind::rejected,     OutcomeKind::exists,   OutcomeKind::committed};
  for (std::size_t i = 0; i < expected.size(); ++i)
    EXPECT_EQ(outcomes[i].kind, expected[i]) << i << ": " << name_of(outcomes[i].kind) << " " << outcomes[i].reason;
  EXPECT_EQ(job(fine).state.job.rev, core::Rev(1));
}

TEST_P(Groups, the_largest_group_is_applied_whole) {
  std::vector<Operation> submits;
  for (std::size_t i = 0; i < limits::bundles_per_group_max; ++i)
    submits.emplace_back(
        Submit{Namespace("default"), JobId(format("job-{}", i)), lane_, {GraphName("g"), 1, 1}, "in", clock_.now()});
  const auto made = commit_all(submits);
  std::vector<Operation> bundles;
  for (const Outcome& outcome : made)
    bundles.emplace_back(bundle_with(outcome.run(), {core::PutActivity{std::nullopt, activity(0)}}));
  const auto outcomes = commit_all(bundles);
  for (const Outcome& outcome : outcomes) ASSERT_EQ(outcome.kind, OutcomeKind::committed);
  for (const Outcome& outcome : made) ASSERT_EQ(job(outcome.run()).state.job.rev, core::Rev(1));
}

INSTANTIATE_TEST_SUITE_P(stores, Groups, testing::ValuesIn(all_stores()), store_name);

// A bundle that can never be applied, at each position of a group of eight.
struct Position {
  std::string name;
  std::size_t index;
};
std::vector<Position> positions() {
  std::vector<Position> all;
  for (std::size_t i = 0; i < 8; ++i) all.push_back({format("at_{}", i), i});
  return all;
}

class Poison : public StoreCaseTest<Position> {};

TEST_P(Poison, is_rejected_alone_wherever_it_stands) {
  std::vector<RunId> runs;
  std::vector<Operation> group;
  for (std::size_t i = 0; i < 8; ++i) {
    runs.push_back(submit(format("job-{}", i)));
    core::Bundle bundle =
        bundle_with(runs.back(), {core::PutActivity{std::nullopt, activity(0)}, core::PutMessage{start_message(i)}});
    // Its last write is the wrong one: the good ones before it must leave no trace either.
    if (i == scenario().index)
      bundle.writes.emplace_back(core::PutRecord{message_ledger(1), {guid(99), core::ActivitySeq(0), {}}});
    group.emplace_back(std::move(bundle));
  }
  const auto outcomes = commit_all(group);
  for (std::size_t i = 0; i < 8; ++i) {
    const StoredJob stored = job(runs[i]);
    const bool poisoned = i == scenario().index;
    EXPECT_EQ(outcomes[i].kind, poisoned ? OutcomeKind::rejected : OutcomeKind::committed) << i;
    EXPECT_EQ(stored.state.job.rev, core::Rev(poisoned ? 0 : 1)) << i;
    EXPECT_EQ(stored.state.activities().size(), poisoned ? 0u : 1u) << i;
    EXPECT_EQ(stored.inbox.size(), poisoned ? 1u : 2u) << i;
  }
}

TEST_P(Poison, is_rejected_alone_among_operations_of_every_kind) {
  const RunId run = submit("a");
  enqueue(run, 1);
  const RunId poisoned = submit("poisoned");
  core::Bundle poison = bundle_for(poisoned);
  std::get<core::JobHead>(poison.head).completions_before = 1;
  std::vector<Operation> group;
  group.emplace_back(OpenPool{Pool("flows"), 1});
  group.emplace_back(Submit{Namespace("default"), JobId("b"), lane_, {GraphName("g"), 1, 1}, "", clock_.now()});
  group.emplace_back(to_run(run, start_message(1)));
  group.emplace_back(ClaimWork{{Topic("topic")}, 1, "w", lease});
  group.emplace_back(RenewLane{lane_, epoch_, lease});
  group.emplace_back(bundle_for(run));
  group.emplace_back(AcquireLane{other_lane_, "engine-a", lease});
  group.insert(group.begin() + static_cast<std::ptrdiff_t>(std::min(scenario().index, group.size())), poison);
  const auto outcomes = commit_all(group);
  for (std::size_t i = 0; i < group.size(); ++i)
    EXPECT_EQ(outcomes[i].kind, i == scenario().index ? OutcomeKind::rejected : OutcomeKind::committed) << i;
  EXPECT_EQ(job(run).inbox.size(), 2u);
  EXPECT_EQ(job(run).state.job.rev, core::Rev(2));
}

INSTANTIATE_TEST_SUITE_P(stores, Poison,
                         testing::Combine(testing::ValuesIn(all_stores()), testing::ValuesIn(positions())),
                         store_case_name<Position>);

}  // namespace

}  // namespace pawl::store
