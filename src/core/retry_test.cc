#include "core/retry.h"
#include "base/limits.h"
#include "core/kind_state.h"
#include "core/test_graph.h"

#include "core/test_job.h"

namespace pawl::core {

namespace {

using namespace std::chrono_literals;

Graph retried(Retry retry) {
  return *TestGraph("g").trigger("t").worker("work", "topic").after("t").retry(std::move(retry)).build();
}
Graph caught(Retry retry) {
  return *TestGraph("g")
              .trigger("t")
              .worker("work", "topic")
              .after("t")
              .retry(std::move(retry))
              .worker("catch", "topic")
              .after("work", Condition::error())
              .build();
}
Retry plain(std::uint32_t attempts) {
  return Retry().attempts(attempts).first_delay(1s).jitter(0).when_exhausted(WhenExhausted::park);
}

void fail(TestJob& job, std::int32_t code = 500) {
  job.deliver_local(TestJob::answer(job.claim(1), ReplyStatus::error, code, 0, "\"no\""));
  job.run();
}

class Retries : public testing::TestWithParam<Fusion> {};
INSTANTIATE_TEST_SUITE_P(fusion, Retries, testing::Values(Fusion::on, Fusion::off),
                         [](const auto& one) { return one.param == Fusion::on ? "on" : "off"; });

TEST(retry_delay, grows_and_is_capped) {
  const Retry retry = Retry().first_delay(100ms).growth(2).longest_delay(1s).jitter(0);
  const std::vector<Duration> expected = {100ms, 200ms, 400ms, 800ms, 1s, 1s};
  for (std::uint32_t failures = 1; failures <= expected.size(); ++failures)
    EXPECT_EQ(delay_after(retry, failures, 7), expected[failures - 1]) << failures;
  EXPECT_EQ(delay_after(retry, 1'000'000, 7), 1s) << "an infinite power is the longest delay";
}

TEST(retry_delay, jitter_only_shortens_and_spreads) {
  const Retry retry = Retry().first_delay(1s).jitter(0.5);
  std::set<Duration> seen;
  for (std::uint64_t salt = 0; salt < 100; ++salt) {
    const Duration delay = delay_after(retry, 1, salt);
    EXPECT_GT(delay, 500ms);
    EXPECT_LE(delay, 1s);
    EXPECT_EQ(delay, delay_after(retry, 1, salt)) << "a replay waits the same time";
    seen.insert(delay);
  }
  EXPECT_GT(seen.size(), 90u);
}

TEST_P(Retries, a_failed_try_gives_the_work_back_and_marks_nothing) {
  TestJob job(retried(plain(3)), GetParam());
  job.run();
  const std::string before = job.ledger(1);
  const WorkItem claimed = job.claim(1);
  job.deliver_local(TestJob::answer(claimed, ReplyStatus::error, 503, 0, "\"busy\""));
  EXPECT_EQ(job.run(), 1) << "a retry is one commit";
  EXPECT_EQ(job.ledger(1), before);
  const WorkItem* item = job.state.find_work(ActivitySeq(1));
  ASSERT_NE(item, nullptr);
  EXPECT_EQ(item->token, WorkToken(0));
  EXPECT_EQ(item->request, claimed.request) << "the idempotency key stays";
  EXPECT_EQ(item->life.failures, 1u);
  EXPECT_EQ(item->life.failure_code, 503);
  EXPECT_EQ(item->life.failure, "\"busy\"");
  EXPECT_GE(item->visible_at, Instant::from_micros(job.now) + 1s);
  EXPECT_EQ(item->runs, 1u);
  EXPECT_EQ(wake_of(*item), item->visible_at);
}

std::vector<FailedAttempt> attempts_of(const TestJob& job, std::uint32_t activity) {
  return decode_state<WorkState>(job.state.find(ActivitySeq(activity))->state.view())->attempts;
}

TEST_P(Retries, failed_attempts_are_kept_also_after_the_success) {
  TestJob job(retried(plain(3)), GetParam());
  job.run();
  job.deliver_local(TestJob::answer(job.claim(1), ReplyStatus::error, 503, 0, "\"busy\""));
  job.run();
  job.deliver_local(TestJob::answer(job.claim(1), ReplyStatus::error, 504, 0, "\"" + std::string(400, 'x') + "\""));
  job.run();
  ASSERT_EQ(attempts_of(job, 1).size(), 2u);
  job.work(1);
  ASSERT_EQ(job.state.job.status, JobStatus::completed);
  const auto kept = attempts_of(job, 1);
  ASSERT_EQ(kept.size(), 2u);
  EXPECT_EQ(kept[0].code, 503);
  EXPECT_EQ(kept[0].error, "\"busy\"");
  EXPECT_LE(kept[0].at, kept[1].at);
  EXPECT_EQ(kept[1].code, 504);
  EXPECT_LE(kept[1].error.size(), limits::attempt_bytes_max);
}

TEST_P(Retries, of_many_failed_attempts_the_last_ones_are_kept) {
  TestJob job(retried(plain(30)), GetParam());
  job.run();
  for (int i = 0; i < 25; ++i) {
    job.deliver_local(TestJob::answer(job.claim(1), ReplyStatus::error, 600 + i, 0, "\"no\""));
    job.run();
  }
  const auto kept = attempts_of(job, 1);
  ASSERT_EQ(kept.size(), limits::attempts_kept);
  EXPECT_EQ(kept.front().code, 605);
  EXPECT_EQ(kept.back().code, 624);
}

TEST_P(Retries, a_success_after_failures_completes_the_job) {
  TestJob job(retried(plain(3)), GetParam());
  job.run();
  fail(job);
  fail(job);
  job.work(1);
  EXPECT_EQ(job.state.job.status, JobStatus::completed);
  EXPECT_EQ(job.ledger(1), "001111100000001");
  EXPECT_TRUE(job.inbox.empty());
}

TEST_P(Retries, tries_that_run_out_park_the_job_and_a_redrive_allows_them_again) {
  TestJob job(retried(plain(2)), GetParam());
  job.run();
  fail(job);
  EXPECT_EQ(job.state.job.status, JobStatus::running);
  fail(job);
  EXPECT_EQ(job.state.job.status, JobStatus::parked);
  EXPECT_NE(job.state.job.reason.find("failed 2 times"), std::string::npos) << job.state.job.reason;
  EXPECT_TRUE(job.state.find_work(ActivitySeq(1))->held);
  job.ask(Redrive{});
  job.run();
  EXPECT_EQ(job.state.job.status, JobStatus::running);
  EXPECT_EQ(job.state.job.redrives, 1u);
  EXPECT_FALSE(job.state.find_work(ActivitySeq(1))->held);
  fail(job);
  EXPECT_EQ(job.state.job.status, JobStatus::running) << "a whole round of tries again";
  fail(job);
  EXPECT_EQ(job.state.job.status, JobStatus::parked);
  job.ask(Redrive{});
  job.run();
  job.work(1);
  EXPECT_EQ(job.state.job.status, JobStatus::completed);
}

TEST_P(Retries, tries_that_run_out_fail_the_job_if_the_policy_says_so) {
  TestJob job(retried(plain(2).when_exhausted(WhenExhausted::fail)), GetParam());
  job.run();
  fail(job);
  fail(job);
  EXPECT_EQ(job.state.job.status, JobStatus::failed);
  EXPECT_TRUE(job.inbox.empty());
}

TEST_P(Retries, the_last_error_goes_to_whoever_catches_it) {
  TestJob job(caught(plain(2)), GetParam());
  job.run();
  fail(job);
  EXPECT_EQ(job.state.activities().size(), 2u);
  fail(job);
  EXPECT_EQ(job.state.job.status, JobStatus::running);
  ASSERT_EQ(job.state.activities().size(), 3u) << "the catcher was opened";
  job.work(2);
  EXPECT_EQ(job.state.job.status, JobStatus::completed);
}

TEST_P(Retries, a_code_that_is_never_retried_and_a_fatal_error_are_the_answer) {
  for (const auto& [status, code] : {std::pair{ReplyStatus::error, 404}, {ReplyStatus::fatal, 500}}) {
    TestJob job(retried(plain(5).never_on({400, 404})), GetParam());
    job.run();
    job.deliver_local(TestJob::answer(job.claim(1), status, code));
    job.run();
    EXPECT_EQ(job.state.job.status, JobStatus::failed) << code;
  }
}

TEST_P(Retries, a_code_has_attempts_and_delays_of_its_own) {
  TestJob job(retried(plain(2).on(
                  503, Retry().attempts(4).first_delay(10s).growth(3).jitter(0).when_exhausted(WhenExhausted::park))),
              GetParam());
  job.run();
  for (const Duration delay : {Duration(10s), Duration(30s), Duration(90s)}) {
    fail(job, 503);
    const WorkItem& item = *job.state.find_work(ActivitySeq(1));
    const auto waits = item.visible_at.micros() - job.now;
    EXPECT_GE(waits, delay.count());
    EXPECT_LT(waits, (delay + Duration(1s)).count());
  }
  EXPECT_EQ(job.state.job.status, JobStatus::running);
  fail(job, 503);
  EXPECT_EQ(job.state.job.status, JobStatus::parked);
}

TEST_P(Retries, every_failure_counts_against_the_rule_of_the_last_one) {
  TestJob job(retried(plain(3).on(503, plain(10)).on(402, plain(2).when_exhausted(WhenExhausted::fail))), GetParam());
  job.run();
  fail(job, 503);
  fail(job, 500);
  EXPECT_EQ(job.state.job.status, JobStatus::running) << "the second of three";
  fail(job, 503);
  EXPECT_EQ(job.state.job.status, JobStatus::running) << "the third of ten";
  fail(job, 402);
  EXPECT_EQ(job.state.job.status, JobStatus::failed) << "the fourth of two, and this rule fails";
}

TEST_P(Retries, a_code_without_a_rule_follows_the_general_one) {
  TestJob job(retried(plain(1).on(503, plain(5))), GetParam());
  job.run();
  fail(job, 503);
  EXPECT_EQ(job.state.job.status, JobStatus::running);
  fail(job, 500);
  EXPECT_EQ(job.state.job.status, JobStatus::parked) << "one try in all";
}

TEST(retry_policy, one_attempt_is_one_attempt_after_a_redrive_too) {
  const Retry never = Retry().attempts(1).when_exhausted(WhenExhausted::fail);
  const Tried first{Guid{1, 2}, 1, Instant::from_micros(1), Instant()};
  EXPECT_FALSE(next_try(never, first, 0, Instant::from_micros(5)));
  EXPECT_FALSE(next_try(never, first, 3, Instant::from_micros(5)));
  const Retry twice = Retry().attempts(2).when_exhausted(WhenExhausted::fail);
  EXPECT_TRUE(next_try(twice, first, 0, Instant::from_micros(5)));
}

TEST_P(Retries, no_try_begins_after_the_time_that_is_allowed) {
  TestJob job(retried(plain(100).first_delay(10s).growth(1).within(25s).when_exhausted(WhenExhausted::fail)),
              GetParam());
  job.run();
  for (int tries = 0; job.state.job.status == JobStatus::running; ++tries) {
    ASSERT_LT(tries, 5);
    fail(job);
    job.now += 10'000'000;
  }
  EXPECT_EQ(job.state.job.status, JobStatus::failed);
}

TEST_P(Retries, an_answer_of_an_earlier_try_changes_nothing) {
  TestJob job(retried(plain(3)), GetParam());
  job.run();
  const WorkItem first = job.claim(1);
  job.deliver_local(TestJob::answer(first, ReplyStatus::error, 500));
  job.run();
  job.claim(1);
  job.deliver_local(TestJob::answer(first, ReplyStatus::success));
  job.deliver_local(TestJob::answer(first, ReplyStatus::error, 500));
  EXPECT_EQ(job.run(), 0);
  EXPECT_EQ(job.state.find_work(ActivitySeq(1))->life.failures, 1u);
}

TEST_P(Retries, an_error_that_came_through_the_store_is_decided_by_the_job) {
  TestJob job(retried(plain(2)), GetParam());
  job.run();
  job.deliver_remote(TestJob::answer(job.claim(1), ReplyStatus::error, 500));
  job.run();
  EXPECT_TRUE(job.inbox.empty());
  EXPECT_EQ(job.state.find_work(ActivitySeq(1))->life.failures, 1u);
  job.deliver_remote(TestJob::answer(job.claim(1), ReplyStatus::error, 500));
  job.run();
  EXPECT_EQ(job.state.job.status, JobStatus::parked);
  EXPECT_TRUE(job.inbox.empty());
}

TEST_P(Retries, a_crash_before_the_stored_error_was_served_loses_nothing) {
  TestJob job(retried(plain(2)), GetParam());
  job.run();
  job.deliver_remote(TestJob::answer(job.claim(1), ReplyStatus::error, 500));
  job.crash();
  job.run();
  EXPECT_EQ(job.state.find_work(ActivitySeq(1))->life.failures, 1u);
  EXPECT_TRUE(job.inbox.empty());
}

TEST(retry_policy, the_last_rule_for_a_code_counts) {
  const Retry retry = Retry().attempts(2).on(503, Retry().attempts(3)).on(503, Retry().attempts(4));
  EXPECT_EQ(retry.for_codes().size(), 1u);
  EXPECT_EQ(retry.rule_for(503).attempts(), 4u);
  EXPECT_EQ(retry.rule_for(500).attempts(), 2u);
}

}  // namespace

}  // namespace pawl::core
