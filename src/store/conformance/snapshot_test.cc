// step_semaphore_and_snapshot (store/snapshot.h): the compound primitive of step 2, tested through bundles.
#include "store/snapshot.h"
#include "store/conformance/conformance.h"

namespace pawl::store {

namespace {

using core::Bundle;
using core::JobHead;
using core::SemaphoreStep;

constexpr std::uint64_t worked = 10'000'000'001;              // 000010000000001
constexpr std::uint64_t spawned = 11'000'000'001;             // 000011000000001
constexpr std::uint64_t closed_the_job = 111'000'000'001;     // 000111000000001
constexpr std::uint64_t step_1_of_leg_2 = 1'110'000'000'001;  // of an activity
constexpr std::uint64_t step_2_of_leg_2 = 1'111'000'000'001;

class Snapshot : public StoreTest {
 protected:
  // A job with one message that has finished step 1 of its activity; its semaphore is 1.
  RunId job_before_step_2(const std::string& id = "a") {
    const RunId run = submit(id);
    EXPECT_EQ(kind_of(bundle_with(run, {core::PutActivity{std::nullopt, activity(0, step_1_of_leg_2)},
                                        core::PutRecord{std::nullopt, record(worked)}})),
              OutcomeKind::committed);
    return run;
  }
  core::MessageRecord record(std::uint64_t digits, std::uint64_t number = 1) const {
    return {guid(number), core::ActivitySeq(0), message_ledger(digits), {}};
  }
  // Only the semaphore changes.
  Bundle step_of(RunId run, std::int64_t delta, std::int64_t threshold, bool hit) {
    Bundle bundle = bundle_for(run);
    head_of(bundle).semaphore = SemaphoreStep{job(run).state.job.semaphore, delta, threshold, hit};
    return bundle;
  }
  // Step 2 of the message, which closes the job if it hits.
  Bundle step_2_of(RunId run, std::int64_t delta, std::int64_t threshold, bool hit) {
    Bundle bundle = step_of(run, delta, threshold, hit);
    bundle.writes = {core::PutActivity{activity_ledger(step_1_of_leg_2), activity(0, step_2_of_leg_2)},
                     core::PutRecord{message_ledger(worked), record(hit ? closed_the_job : spawned)}};
    if (hit) head_of(bundle).status = core::JobStatus::completed;
    return bundle;
  }
  static JobHead& head_of(Bundle& bundle) { return std::get<JobHead>(bundle.head); }
  std::uint64_t digits(RunId run, std::uint64_t number = 1) {
    const StoredJob stored = job(run);
    const core::MessageRecord* found = stored.state.find_message(guid(number));
    return found == nullptr ? 0 : found->ledger.encode();
  }
  std::int64_t semaphore(RunId run) { return job(run).state.job.semaphore; }
};

TEST_P(Snapshot, the_weight_is_the_digit_that_says_who_closed_the_job) {
  const auto before = message_ledger(spawned);
  const auto after = before.with_job_closed();
  ASSERT_TRUE(after);
  EXPECT_EQ(after->encode() - before.encode(), static_cast<std::uint64_t>(snapshot_weight));
}

TEST_P(Snapshot, a_step_to_the_threshold_leaves_the_digit_on_its_message_and_every_other_step_leaves_none) {
  struct Case {
    std::int64_t delta, threshold;
  };
  int hits = 0;
  int number = 0;
  for (const Case& one : {Case{-1, 0},
                          {0, 0},
                          {-1, 1},
                          {0, 1},
                          {1, 2},
                          {2, 2},
                          {11, 12},
                          {10, 12},
                          {-1, -1},
                          {0, -1},
                          {4, -5},
                          {999'999'998, 999'999'999},
                          {0, INT64_MAX},
                          {0, INT64_MIN}}) {
    const RunId run = job_before_step_2(format("job {}", number++));
    const bool hit = 1 + one.delta == one.threshold;
    hits += hit ? 1 : 0;
    ASSERT_EQ(kind_of(step_2_of(run, one.delta, one.threshold, hit)), OutcomeKind::committed)
        << one.delta << " to " << one.threshold;
    EXPECT_EQ(digits(run), hit ? closed_the_job : spawned) << one.delta << " to " << one.threshold;
    EXPECT_EQ(semaphore(run), hit ? 0 : 1 + one.delta) << "a closed job owes nothing";
  }
  EXPECT_EQ(hits, 5);
}

TEST_P(Snapshot, a_threshold_that_is_jumped_over_is_no_hit_and_coming_back_to_it_is_one) {
  const RunId run = job_before_step_2();
  ASSERT_EQ(kind_of(step_of(run, 4, 3, false)), OutcomeKind::committed);   // 5: above it
  ASSERT_EQ(kind_of(step_of(run, -3, 3, false)), OutcomeKind::committed);  // 2: and below
  ASSERT_EQ(kind_of(step_of(run, 3, 3, false)), OutcomeKind::committed);   // 5
  EXPECT_EQ(digits(run), worked);
  ASSERT_EQ(kind_of(step_2_of(run, -2, 3, true)), OutcomeKind::committed);  // 3
  EXPECT_EQ(digits(run), closed_the_job);
  EXPECT_EQ(job(run).state.job.status, core::JobStatus::completed);
}

TEST_P(Snapshot, only_the_last_of_several_steps_closes_the_job) {
  const RunId run = job_before_step_2();
  for (const std::int64_t delta : {2, 0, -1, 1, -2}) {  // 3 3 2 3 1
    ASSERT_EQ(kind_of(step_of(run, delta, 0, false)), OutcomeKind::committed);
    EXPECT_EQ(digits(run), worked);
  }
  ASSERT_EQ(kind_of(step_2_of(run, -1, 0, true)), OutcomeKind::committed);
  EXPECT_EQ(digits(run), closed_the_job);
}

TEST_P(Snapshot, each_step_has_a_threshold_of_its_own) {
  const RunId run = job_before_step_2();
  ASSERT_EQ(kind_of(step_of(run, 1, 7, false)), OutcomeKind::committed);
  ASSERT_EQ(kind_of(step_of(run, 1, 0, false)), OutcomeKind::committed);
  ASSERT_EQ(kind_of(step_2_of(run, 0, 3, true)), OutcomeKind::committed);
  EXPECT_EQ(digits(run), closed_the_job);
}

TEST_P(Snapshot, a_hit_that_the_bundle_denies_or_makes_up_is_refused_with_the_reason) {
  const RunId run = job_before_step_2();
  const StoredJob before = job(run);
  struct Case {
    std::int64_t delta, threshold;
    bool hit;
    const char* reason;
  };
  for (const Case& one : {Case{-1, 0, false, "semaphore 1 + -1 hits the threshold 0, the bundle says otherwise"},
                          {0, 0, true, "semaphore 1 + 0 misses the threshold 0, the bundle says otherwise"},
                          {2, 3, false, "semaphore 1 + 2 hits the threshold 3, the bundle says otherwise"},
                          {3, 3, true, "semaphore 1 + 3 misses the threshold 3, the bundle says otherwise"}}) {
    for (const bool with_message : {true, false}) {
      const Outcome refused = commit(with_message ? step_2_of(run, one.delta, one.threshold, one.hit)
                                                  : step_of(run, one.delta, one.threshold, one.hit));
      EXPECT_EQ(refused.kind, OutcomeKind::rejected);
      EXPECT_EQ(refused.reason, one.reason);
    }
    EXPECT_EQ(job(run).state, before.state);
  }
}

TEST_P(Snapshot, a_refused_step_stops_nobody_else_in_its_group) {
  const RunId wrong = job_before_step_2("wrong");
  const RunId right = job_before_step_2("right");
  const auto outcomes = commit_all({step_2_of(wrong, 0, 0, true), step_2_of(right, -1, 0, true)});
  EXPECT_EQ(outcomes[0].kind, OutcomeKind::rejected);
  EXPECT_EQ(outcomes[1].kind, OutcomeKind::committed);
  EXPECT_EQ(digits(wrong), worked);
  EXPECT_EQ(digits(right), closed_the_job);
}

TEST_P(Snapshot, a_message_that_enters_works_and_closes_in_one_bundle_gets_the_digit) {
  const RunId run = submit("a");
  Bundle bundle = step_of(run, -1, 0, true);
  bundle.writes = {core::PutActivity{std::nullopt, activity(0, step_2_of_leg_2)},
                   core::PutRecord{std::nullopt, record(closed_the_job)}};
  head_of(bundle).next_activity = 1;
  head_of(bundle).status = core::JobStatus::completed;
  ASSERT_EQ(kind_of(bundle), OutcomeKind::committed);
  EXPECT_EQ(digits(run), closed_the_job);
}

TEST_P(Snapshot, a_message_with_a_row_of_its_own_gets_the_digit_there) {
  // It does not conclude its activity, so its ledger is not the activity's.
  const RunId run = submit("a");
  ASSERT_EQ(kind_of(bundle_with(
                run, {core::PutActivity{std::nullopt, activity(0)}, core::PutRecord{std::nullopt, record(worked)}})),
            OutcomeKind::committed);
  for (const bool is_new : {false, true}) {
    const RunId one = is_new ? submit("b") : run;
    if (is_new) {
      ASSERT_EQ(kind_of(bundle_with(one, {core::PutActivity{std::nullopt, activity(0)}})), OutcomeKind::committed);
    }
    Bundle bundle = step_of(one, 4, 5, true);
    core::PutRecord put{message_ledger(worked), record(closed_the_job)};
    if (is_new) put.before.reset();
    put.after.output = "an output of its own";
    bundle.writes = {put};
    head_of(bundle).status = core::JobStatus::completed;
    ASSERT_EQ(kind_of(bundle), OutcomeKind::committed);
    EXPECT_EQ(digits(one), closed_the_job);
    EXPECT_EQ(job(one).state.find_message(guid(1))->output, Payload("an output of its own"));
  }
}

TEST_P(Snapshot, only_the_message_that_closed_the_job_gets_the_digit_of_all_in_the_bundle) {
  const RunId run = job_before_step_2();
  Bundle bundle = step_2_of(run, -1, 0, true);
  bundle.writes.emplace_back(core::PutRecord{std::nullopt, record(worked, 2)});
  ASSERT_EQ(kind_of(bundle), OutcomeKind::committed);
  EXPECT_EQ(digits(run, 1), closed_the_job);
  EXPECT_EQ(digits(run, 2), worked);
}

TEST_P(Snapshot, two_messages_cannot_close_one_job) {
  const RunId run = job_before_step_2();
  const StoredJob before = job(run);
  Bundle bundle = step_2_of(run, -1, 0, true);
  bundle.writes.emplace_back(core::PutRecord{std::nullopt, record(closed_the_job, 2)});
  const Outcome refused = commit(bundle);
  EXPECT_EQ(refused.kind, OutcomeKind::rejected);
  EXPECT_NE(refused.reason.find("both closed the job"), std::string::npos) << refused.reason;
  EXPECT_EQ(job(run).state, before.state);
}

TEST_P(Snapshot, a_closing_that_is_no_hit_keeps_the_digit_that_its_bundle_has) {
  const RunId run = job_before_step_2();
  Bundle bundle = step_2_of(run, 3, 0, false);
  std::get<core::PutRecord>(bundle.writes[1]).after = record(closed_the_job);
  head_of(bundle).status = core::JobStatus::failed;
  ASSERT_EQ(kind_of(bundle), OutcomeKind::committed);
  EXPECT_EQ(digits(run), closed_the_job);
  EXPECT_EQ(semaphore(run), 0);
}

TEST_P(Snapshot, the_same_step_again_is_already_done_and_adds_nothing) {
  const RunId run = job_before_step_2();
  const Bundle bundle = step_2_of(run, -1, 0, true);
  ASSERT_EQ(kind_of(bundle), OutcomeKind::committed);
  EXPECT_EQ(kind_of(bundle), OutcomeKind::already_done);
  EXPECT_EQ(digits(run), closed_the_job);
  EXPECT_EQ(semaphore(run), 0);
}

INSTANTIATE_TEST_SUITE_P(stores, Snapshot, testing::ValuesIn(all_stores()), store_name);

}  // namespace

}  // namespace pawl::store
