// The first step of a job in the group of its submit, under the number that the engine expects for the run.
#include "store/conformance/conformance.h"

namespace pawl::store {

namespace {

class FirstStep : public StoreTest {
 protected:
  void SetUp() override {
    StoreTest::SetUp();
    if (!store_->takes_first_steps()) GTEST_SKIP() << "its jobs take their first step in the next group";
  }
  Submit order(const std::string& id) {
    return Submit{Namespace("default"), JobId(id), lane_, {GraphName("order"), 3, 9}, "in", Instant::from_micros(42)};
  }
  // What the next run of the lane will be.
  RunId next_run() { return RunId(commit(order(format("probe-{}", ++probes_))).run().raw() + 1); }
  // It takes the start message and opens work.
  core::Bundle first_step(RunId run) {
    core::Bundle bundle;
    bundle.entity = run;
    bundle.epoch = store_->read_lane(lane_)->epoch;
    bundle.id = core::BundleId(77 + run.raw() % 1000);
    bundle.with_submit = true;
    core::JobHead head;
    head.semaphore = core::SemaphoreStep{1, 1, 0, false};
    head.next_activity = 1;
    bundle.head = std::move(head);
    core::Activity opened;
    opened.ledger = *ledger::ActivityLedger::decode(1'100'000'000'000);
    core::WorkItem item;
    item.run = run;
    item.topic = Topic("pack");
    item.request = core::Guid{0, 7};
    bundle.writes = {core::PutActivity{std::nullopt, opened}, core::PutWork{item},
                     core::Consume{core::start_message(run, {}).guid}};
    return bundle;
  }
  std::vector<Outcome> commit_all(const std::vector<Operation>& group) {
    auto outcomes = store_->commit(group);
    EXPECT_TRUE(outcomes) << to_string(outcomes.error());
    return outcomes ? *outcomes : std::vector<Outcome>(group.size());
  }
  void expect_untouched(RunId run) {
    const StoredJob stored = job(run);
    EXPECT_EQ(stored.state.job.rev, core::Rev(0));
    EXPECT_TRUE(stored.state.activities().empty());
    EXPECT_EQ(stored.inbox.size(), 1u);
  }

 private:
  int probes_ = 0;
};

TEST_P(FirstStep, is_applied_behind_its_submit) {
  const RunId run = next_run();
  Submit submit = order("a");
  submit.deadline = Instant::from_micros(90'000'000);
  const auto outcomes = commit_all({submit, first_step(run)});
  EXPECT_EQ(outcomes[0].kind, OutcomeKind::committed);
  EXPECT_EQ(outcomes[0].run(), run);
  EXPECT_EQ(outcomes[1].kind, OutcomeKind::committed) << outcomes[1].reason;
  const StoredJob stored = job(run);
  EXPECT_EQ(stored.state.job.rev, core::Rev(1));
  EXPECT_EQ(stored.state.job.semaphore, 2);
  EXPECT_EQ(stored.state.job.next_activity, 1u);
  EXPECT_EQ(stored.state.job.id, JobId("a"));
  EXPECT_TRUE(stored.inbox.empty());
  EXPECT_EQ(stored.timers.size(), 1u);
  ASSERT_EQ(stored.state.activities().size(), 1u);
  EXPECT_NE(stored.state.find_work(core::ActivitySeq(0)), nullptr);
}

TEST_P(FirstStep, of_many_jobs_is_one_group) {
  const RunId first = next_run();
  std::vector<Operation> group;
  for (std::uint64_t i = 0; i < 20; ++i) {
    group.emplace_back(order(format("job-{}", i)));
    group.emplace_back(first_step(RunId(first.raw() + i)));
  }
  for (const Outcome& outcome : commit_all(group)) EXPECT_EQ(outcome.kind, OutcomeKind::committed) << outcome.reason;
  for (std::uint64_t i = 0; i < 20; ++i) EXPECT_EQ(job(RunId(first.raw() + i)).state.job.rev, core::Rev(1));
}

TEST_P(FirstStep, of_a_refused_submit_is_refused_too) {
  const RunId holder = commit(order("a")).run();
  const RunId run = next_run();
  const auto outcomes = commit_all({order("a"), first_step(run), order("b")});
  EXPECT_EQ(outcomes[0].kind, OutcomeKind::exists);
  EXPECT_EQ(outcomes[0].run(), holder);
  EXPECT_EQ(outcomes[1].kind, OutcomeKind::conflict);
  EXPECT_EQ(outcomes[2].kind, OutcomeKind::committed) << "the others go on";
  EXPECT_EQ(outcomes[2].run(), run) << "nobody had the number";
  expect_untouched(holder);
  expect_untouched(run);
}

// Each of these jobs got the number that was expected for another one.
TEST_P(FirstStep, never_reaches_another_job) {
  const RunId run = next_run();
  const RunId other = commit(order("other")).run();  // by another process, say
  ASSERT_EQ(other, run);
  const RunId later(run.raw() + 1);
  const auto outcomes = commit_all({order("a"), first_step(run), order("b"), first_step(later)});
  EXPECT_EQ(outcomes[0].kind, OutcomeKind::committed);
  EXPECT_EQ(outcomes[0].run(), later);
  EXPECT_EQ(outcomes[1].kind, OutcomeKind::conflict);
  EXPECT_EQ(outcomes[2].kind, OutcomeKind::committed);
  EXPECT_EQ(outcomes[3].kind, OutcomeKind::conflict) << "it was decided for b, and a has the number";
  for (const RunId one : {other, later, outcomes[2].run()}) expect_untouched(one);
}

TEST_P(FirstStep, that_cannot_be_applied_leaves_the_job_and_its_start_message) {
  const RunId run = next_run();
  core::Bundle first = first_step(run);
  core::Activity missing;
  missing.seq = core::ActivitySeq(7);
  missing.ledger = *ledger::ActivityLedger::decode(1'110'000'000'001);
  first.writes.emplace_back(core::PutActivity{*ledger::ActivityLedger::decode(1'100'000'000'000), missing});
  const auto outcomes = commit_all({order("a"), first, order("b"), first_step(RunId(run.raw() + 1))});
  EXPECT_EQ(outcomes[0].kind, OutcomeKind::committed);
  EXPECT_EQ(outcomes[1].kind, OutcomeKind::rejected);
  expect_untouched(run);
  EXPECT_EQ(outcomes[3].kind, OutcomeKind::committed) << outcomes[3].reason;
  EXPECT_TRUE(job(outcomes[2].run()).inbox.empty());
}

// No store looks at it any further, so the next submit is what comes behind this one.
TEST_P(FirstStep, that_is_too_large_leaves_the_job_and_its_start_message) {
  const RunId run = next_run();
  core::Bundle first = first_step(run);
  std::get<core::JobHead>(first.head).data = Payload(std::string(limits::payload_bytes_max + 1, 'x'));
  const auto outcomes = commit_all({order("a"), first, order("b"), first_step(RunId(run.raw() + 1))});
  EXPECT_EQ(outcomes[0].kind, OutcomeKind::committed);
  EXPECT_EQ(outcomes[1].kind, OutcomeKind::rejected);
  expect_untouched(run);
  EXPECT_EQ(outcomes[3].kind, OutcomeKind::committed) << outcomes[3].reason;
  EXPECT_TRUE(job(outcomes[2].run()).inbox.empty());
}

TEST_P(FirstStep, counts_only_right_behind_its_submit) {
  const RunId run = next_run();
  EXPECT_EQ(commit_all({first_step(run), order("a")})[0].kind, OutcomeKind::conflict);
  EXPECT_EQ(kind_of(first_step(run)), OutcomeKind::conflict) << "the job is there, but was submitted before";
  const RunId next = next_run();
  const auto outcomes = commit_all({order("b"), order("c"), first_step(next)});
  EXPECT_EQ(outcomes[0].run(), next);
  EXPECT_EQ(outcomes[2].kind, OutcomeKind::conflict);
  for (const RunId one : {run, next, outcomes[1].run()}) expect_untouched(one);
}

INSTANTIATE_TEST_SUITE_P(stores, FirstStep, testing::ValuesIn(all_stores()), store_name);
INSTANTIATE_TEST_SUITE_P(islands, FirstStep, testing::ValuesIn(island_stores()), store_name);

}  // namespace

}  // namespace pawl::store
