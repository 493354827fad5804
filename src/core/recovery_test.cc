// Crashes, re-entries, thresholds and parking: what decide() does with messages that were loaded.
#include "core/test_graph.h"
#include "core/test_job.h"

namespace pawl::core {

namespace {

class Recovery : public testing::TestWithParam<Fusion> {};

// Plays a job with two workers, one of them answered `status`, and crashes after commit `crash_at`.
JobState play(Fusion fusion, ReplyStatus status, int crash_at, int* commits) {
  TestJob job(two_workers(), fusion);
  int count = 0;
  const auto advance = [&] {
    while (job.step())
      if (++count == crash_at) job.crash();
  };
  advance();
  std::vector<WorkItem> items;
  for (const std::uint32_t activity : {1u, 2u})
    if (job.state.find_work(ActivitySeq(activity)) != nullptr) items.push_back(job.claim(activity));
  for (std::size_t i = 0; i < items.size(); ++i) {
    job.deliver_local(TestJob::answer(items[i], i == 0 ? status : ReplyStatus::success,
                                      i == 0 && status == ReplyStatus::error ? 500 : 200));
    advance();
    // A worker whose reply was lost with the engine replies again.
    if (job.state.find_work(items[i].activity) != nullptr && job.state.job.status == JobStatus::running) {
      job.deliver_local(TestJob::answer(items[i], i == 0 ? status : ReplyStatus::success,
                                        i == 0 && status == ReplyStatus::error ? 500 : 200));
      advance();
    }
  }
  EXPECT_TRUE(job.inbox.empty()) << "rule G: every message is acknowledged; crash at " << crash_at;
  if (commits != nullptr) *commits = count;
  return job.state;
}

// Ledgers without what a crash may add: leg-1 attempts.
std::vector<std::uint64_t> masked(const JobState& state) {
  std::vector<std::uint64_t> digits;
  for (const Activity& one : state.activities()) digits.push_back(one.ledger.encode() % 1'000'000'000'000);
  return digits;
}

TEST_P(Recovery, a_crash_after_any_commit_ends_in_the_same_ledgers) {
  for (const ReplyStatus status : {ReplyStatus::success, ReplyStatus::error}) {
    int commits = 0;
    const JobState whole = play(GetParam(), status, 0, &commits);
    ASSERT_GT(commits, 1);
    for (int at = 1; at <= commits; ++at) {
      const JobState crashed = play(GetParam(), status, at, nullptr);
      EXPECT_EQ(masked(crashed), masked(whole)) << "crash after commit " << at;
      EXPECT_EQ(crashed.job.status, whole.job.status) << "crash after commit " << at;
      EXPECT_EQ(crashed.job.completions, 1u);
      EXPECT_EQ(crashed.job.semaphore, 0);
    }
  }
}

TEST_P(Recovery, both_fusions_end_in_the_same_ledgers) {
  const JobState one = play(GetParam(), ReplyStatus::success, 0, nullptr);
  const JobState other = play(Fusion::off, ReplyStatus::success, 0, nullptr);
  EXPECT_EQ(masked(one), masked(other));
}

TEST_P(Recovery, a_loaded_message_counts_its_entry_in_a_commit_of_its_own_first) {
  TestJob job(one_worker(), GetParam());
  job.crash();
  ASSERT_TRUE(job.step());
  EXPECT_EQ(job.inbox.front().redeliveries, 1u);
  EXPECT_TRUE(job.state.activities().empty()) << "nothing else is in that commit";
  job.run();
  EXPECT_EQ(job.ledger(1), "001100000000000");
}

TEST_P(Recovery, a_message_that_was_entered_ten_times_parks_its_job) {
  TestJob job(one_worker(), GetParam());
  for (std::uint32_t death = 0; death < limits::reentries_max; ++death) {
    job.crash();
    ASSERT_TRUE(job.step());
    EXPECT_EQ(job.inbox.front().redeliveries, death + 1);
    EXPECT_EQ(job.state.job.status, JobStatus::running);
  }
  job.crash();
  ASSERT_TRUE(job.step());
  EXPECT_EQ(job.state.job.status, JobStatus::parked);
  EXPECT_NE(job.state.job.reason.find("10 times"), std::string::npos) << job.state.job.reason;
  EXPECT_EQ(job.inbox.size(), 1u) << "the message waits for whoever resumes the job";
  EXPECT_FALSE(job.step()) << "a parked job decides nothing";
}

TEST_P(Recovery, a_message_has_a_ceiling_of_entries_however_often_its_job_was_redriven) {
  // The count has eight digits: beyond the last one it would begin again.
  TestJob job(one_worker(), GetParam());
  job.state.job.redrives = 4'000'000'000;
  job.inbox.front().redeliveries = limits::redeliveries_ceiling - 1;
  job.crash();
  ASSERT_TRUE(job.step());
  EXPECT_EQ(job.inbox.front().redeliveries, limits::redeliveries_ceiling);
  EXPECT_EQ(job.state.job.status, JobStatus::running) << "the last one";
  job.crash();
  ASSERT_TRUE(job.step());
  EXPECT_EQ(job.state.job.status, JobStatus::parked);
  EXPECT_NE(job.state.job.reason.find("99999999 times"), std::string::npos) << job.state.job.reason;
}

INSTANTIATE_TEST_SUITE_P(fusions, Recovery, testing::Values(Fusion::on, Fusion::off),
                         [](const auto& one) { return one.param == Fusion::on ? "fused" : "alone"; });

// Up to the child's transition in the inbox, entered once.
TestJob with_transition_waiting() {
  TestJob job(one_worker(), Fusion::off);
  for (int i = 0; i < 4; ++i) job.step();
  EXPECT_EQ(job.ledger(1), "001000000000000");
  return job;
}

TEST(reentry, leg_1_counts_002_003_and_on_and_then_completes) {
  TestJob job = with_transition_waiting();
  for (int entry = 2; entry <= 9; ++entry) {
    job.crash();
    ASSERT_TRUE(job.step());
    EXPECT_EQ(job.ledger(1), format("{:03}000000000000", entry));
  }
  job.run();
  EXPECT_EQ(job.ledger(1), "009100000000000");
}

TEST(reentry, leg_1_parks_at_ten_entries) {
  TestJob job = with_transition_waiting();
  for (int entry = 2; entry <= 10; ++entry) {
    job.crash();
    ASSERT_TRUE(job.step());
  }
  EXPECT_EQ(job.ledger(1), "010000000000000");
  job.crash();
  ASSERT_TRUE(job.step());
  EXPECT_EQ(job.state.job.status, JobStatus::parked);
  EXPECT_EQ(job.ledger(1), "010000000000000");
  EXPECT_EQ(job.inbox.size(), 1u);
}

TEST(reentry, a_replayed_transition_whose_leg_1_is_complete_is_counted_and_acknowledged) {
  // The entry is counted in the third digit of the ledger: 002100000000000.
  TestJob job = with_transition_waiting();
  ASSERT_TRUE(job.step());
  ASSERT_EQ(job.ledger(1), "001100000000000");
  const WorkItem before = *job.state.find_work(ActivitySeq(1));
  job.crash();
  job.run();
  EXPECT_EQ(job.ledger(1), "002100000000000");
  EXPECT_TRUE(job.inbox.empty());
  EXPECT_EQ(*job.state.find_work(ActivitySeq(1)), before) << "no second request";
}

TEST(reentry, a_configured_limit_parks_earlier) {
  TestJob job(one_worker());
  job.crash();
  DecideOptions options;
  options.reentries_max = 3;
  Delivery delivery = job.queue.front();
  delivery.redeliveries = 2;
  EXPECT_FALSE(
      std::get<JobHead>(decide(job.state, one_worker(), std::span(&delivery, 1), options).bundle->head).reason);
  delivery.redeliveries = 3;
  const Decision parked = decide(job.state, one_worker(), std::span(&delivery, 1), options);
  EXPECT_EQ(std::get<JobHead>(parked.bundle->head).status, JobStatus::parked);
}

// The activity's leg 2 was entered as often as its ledger can count.
void fill_entries(TestJob& job) {
  Activity activity = *job.state.find(ActivitySeq(1));
  activity.ledger = *ledger::ActivityLedger::decode(1'100'099'999'999);
  job.state.put(activity);
}

TEST_P(Recovery, the_hundred_millionth_entry_parks_the_job_and_keeps_the_answer) {
  TestJob job(one_worker(), GetParam());
  job.run();
  fill_entries(job);
  const Message answer = TestJob::answer(job.claim(1), ReplyStatus::success);
  job.deliver_local(answer);
  job.run();
  EXPECT_EQ(job.state.job.status, JobStatus::parked);
  EXPECT_EQ(job.ledger(1), "001100099999999") << "no carry into the completion mark";
  ASSERT_EQ(job.inbox.size(), 1u);
  EXPECT_EQ(job.inbox.front().message, answer);
}

TEST(threshold, above_zero_closes_the_job_and_sweeps_what_is_left) {
  // Three obligations are open; the job ends when one is left.
  TestGraph builder("g");
  builder.trigger("t");
  for (const char* name : {"a", "b", "c"}) builder.worker(name, "topic").after("t");
  for (const Fusion fusion : {Fusion::on, Fusion::off}) {
    TestJob job(*builder.build(), fusion, 1);
    job.state.job.semaphore = 2;  // the trigger and another obligation: 2 - 1 + 3 = 4 are open
    job.run();
    ASSERT_EQ(job.state.job.semaphore, 4);
    job.work(1);
    job.work(2);
    EXPECT_EQ(job.state.job.status, JobStatus::running);
    job.work(3);
    EXPECT_EQ(job.state.job.status, JobStatus::completed);
    EXPECT_EQ(job.state.job.semaphore, 0) << "a closed job owes nothing";
    EXPECT_EQ(job.state.job.completions, 1u);
    EXPECT_TRUE(job.state.work().empty());
    EXPECT_TRUE(job.inbox.empty());
  }
}

TEST(threshold, is_not_jumped_by_a_bundle_of_many_messages) {
  // Deliveries are applied one by one; the second answer closes the job, the third is late.
  TestGraph builder("g");
  builder.trigger("t");
  for (const char* name : {"a", "b", "c"}) builder.worker(name, "topic").after("t");
  TestJob job(*builder.build(), Fusion::on, 1);
  job.state.job.semaphore = 1;
  job.run();
  ASSERT_EQ(job.state.job.semaphore, 3);
  std::vector<Message> answers;
  for (const std::uint32_t activity : {1u, 2u, 3u})
    answers.push_back(TestJob::answer(job.claim(activity), ReplyStatus::success));
  for (const Message& answer : answers) job.deliver_local(answer);
  EXPECT_EQ(job.run(), 1);
  EXPECT_EQ(job.state.job.status, JobStatus::completed);
  EXPECT_EQ(job.ledger(answers[1].guid), "000111100000001");
  EXPECT_EQ(job.ledger(answers[2].guid), "none");
}

TEST(threshold, negative_is_never_hit) {
  TestJob job(one_worker(), Fusion::on, -1);
  job.run();
  job.work(1);
  EXPECT_EQ(job.state.job.status, JobStatus::running);
  EXPECT_EQ(job.state.job.semaphore, 0);
}

}  // namespace

}  // namespace pawl::core
