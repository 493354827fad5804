// Failed attempts: how often, when, and what becomes of the job once they have run out.
#include <atomic>

#include "life_test.h"

namespace pawl {
namespace {

using namespace testing;

class RetryTest : public LifeTest {
 protected:
  // A worker that fails until its nth attempt.
  Worker succeeds_on(std::uint32_t nth, std::int32_t code = 500) {
    return [this, nth, code](Work& work) {
      notes.add(std::to_string(work.attempt()) + " " + work.key());
      if (work.attempt() < nth) return Reply::error("\"not yet\"", code);
      return Reply::success("done");
    };
  }
  static Retry quick(std::uint32_t attempts) {
    return Retry().attempts(attempts).first_delay(1ms).longest_delay(5ms).when_exhausted(WhenExhausted::park);
  }
  Notes notes;
};

TEST_P(RetryTest, a_failed_try_is_followed_by_another_with_the_same_key) {
  runtime = start_with(options(), step_graph([](auto& act) { act.retry(quick(3)); }), succeeds_on(3));
  const RunId run = submit_step(*runtime);
  EXPECT_EQ(end_of(*runtime, run).status, JobStatus::completed);
  const auto tries = notes.all();
  ASSERT_EQ(tries.size(), 3u);
  const std::string key = tries[0].substr(2);
  EXPECT_EQ(tries, (std::vector<std::string>{"1 " + key, "2 " + key, "3 " + key}));
  const ActivityView act = act_of(*runtime, run);
  EXPECT_EQ(act.ledger, "001111100000001");  // a retry marks nothing
  EXPECT_EQ(act.effect, Effect::done);
}

TEST_P(RetryTest, without_a_policy_the_first_error_is_the_answer) {
  runtime = start_with(options(), step_graph(), succeeds_on(2));
  const JobView end = end_of(*runtime, submit_step(*runtime));
  EXPECT_EQ(end.status, JobStatus::failed);
  EXPECT_EQ(notes.size(), 1u);
}

TEST_P(RetryTest, no_try_begins_before_its_time_and_each_waits_longer) {
  std::vector<std::chrono::steady_clock::time_point> begun;
  const auto graph = [] {
    return step_graph(
        [](auto& act) { act.retry(Retry().attempts(4).first_delay(20ms).growth(2).longest_delay(50ms).jitter(0)); });
  };
  runtime = start_with(options(), graph(), [&](Work& work) {
    begun.push_back(std::chrono::steady_clock::now());
    return work.attempt() < 4 ? Reply::error("\"no\"") : Reply::success();
  });
  EXPECT_EQ(end_of(*runtime, submit_step(*runtime)).status, JobStatus::completed);
  ASSERT_EQ(begun.size(), 4u);
  // A server's clock is known to within a round trip (docs/GUARANTEES.md, "Time").
  const auto early_max = GetParam().place.is_server ? 5ms : 0ms;
  EXPECT_GE(begun[1] - begun[0], 20ms - early_max);
  EXPECT_GE(begun[2] - begun[1], 40ms - early_max);
  EXPECT_GE(begun[3] - begun[2], 50ms - early_max);
}

TEST_P(RetryTest, a_code_that_no_try_mends_and_a_fatal_error_end_it_at_once) {
  runtime = start_with(options(), step_graph([](auto& act) { act.retry(quick(5).never_on({404})); }), [&](Work& work) {
    notes.add(work.input().str());
    return work.input().str() == "gone" ? Reply::error("\"gone\"", 404) : Reply::fatal("\"broken\"", 500);
  });
  for (const char* input : {"gone", "broken"}) {
    const JobView end = end_of(*runtime, submit_step(*runtime, input, input));
    EXPECT_EQ(end.status, JobStatus::failed);
    EXPECT_NE(end.reason.find(input), std::string::npos) << end.reason;
  }
  EXPECT_EQ(notes.size(), 2u);
}

TEST_P(RetryTest, a_code_may_have_a_rule_of_its_own) {
  // Busy is worth many attempts, other errors one; the job shows the last error.
  const auto graph = [] {
    return step_graph([](auto& act) {
      act.retry(Retry()
                    .attempts(1)
                    .when_exhausted(WhenExhausted::fail)
                    .on(503, quick(4).when_exhausted(WhenExhausted::fail)));
    });
  };
  runtime = start_with(options(), graph(), [&](Work& work) {
    notes.add(work.input().str());
    if (work.input().str() == "mends")
      return work.attempt() < 4 ? Reply::error("\"busy\"", 503) : Reply::success("done");
    return Reply::error("\"no\"", work.input().str() == "busy" || work.attempt() == 1 ? 503 : 500);
  });
  const JobView mended = end_of(*runtime, submit_step(*runtime, "mends", "mends"));
  EXPECT_EQ(mended.status, JobStatus::completed);
  EXPECT_EQ(notes.size(), 4u);
  const JobView busy = end_of(*runtime, submit_step(*runtime, "busy", "busy"));
  EXPECT_EQ(busy.reason, "activity act failed with code 503: \"no\"");
  EXPECT_EQ(notes.size(), 8u);
  const JobView other = end_of(*runtime, submit_step(*runtime, "other", "other"));
  EXPECT_EQ(other.reason, "activity act failed with code 500: \"no\"");
  EXPECT_EQ(notes.size(), 10u) << "500 is not tried again";
}

TEST_P(RetryTest, tries_that_have_run_out_park_the_job_and_a_redrive_allows_them_once_more) {
  runtime = start_with(options(), step_graph([](auto& act) { act.retry(quick(3)); }), succeeds_on(5));
  const RunId run = submit_step(*runtime);
  const JobView parked = end_of(*runtime, run);
  EXPECT_EQ(parked.status, JobStatus::parked);
  EXPECT_NE(parked.reason.find("activity act failed 3 times"), std::string::npos) << parked.reason;
  EXPECT_NE(parked.reason.find("not yet"), std::string::npos) << parked.reason;
  const ActivityView act = act_of(*runtime, run);
  ASSERT_TRUE(act.work.has_value());
  EXPECT_EQ(act.work->failures, 3u);
  EXPECT_EQ(act.work->failure_code, 500);
  EXPECT_EQ(act.work->failure, "\"not yet\"");
  EXPECT_TRUE(act.work->held);
  ASSERT_TRUE(runtime->job(run).redrive().ok());
  const JobView end = end_of(*runtime, run);
  EXPECT_EQ(end.status, JobStatus::completed);
  EXPECT_EQ(end.redrives, 1u);
  EXPECT_EQ(notes.size(), 5u);
}

TEST_P(RetryTest, tries_that_have_run_out_fail_the_job_if_the_policy_says_so) {
  runtime =
      start_with(options(), step_graph([](auto& act) { act.retry(quick(2).when_exhausted(WhenExhausted::fail)); }),
                 succeeds_on(9, 503));
  const JobView end = end_of(*runtime, submit_step(*runtime));
  EXPECT_EQ(end.status, JobStatus::failed);
  EXPECT_EQ(end.reason, "activity act failed with code 503: \"not yet\"");
  EXPECT_EQ(notes.size(), 2u);
}

TEST_P(RetryTest, an_error_that_a_transition_catches_is_tried_first_and_caught_then) {
  const auto graph =
      step_graph([](auto& act) { act.retry(quick(2)).worker("mend", "mend").after("act", Condition::error()); });
  runtime = open_with(options(), graph, succeeds_on(9));
  ASSERT_TRUE(runtime->serve("mend", [](Work&) { return Reply::success("mended"); }).ok());
  ASSERT_TRUE(runtime->launch().ok());
  const JobView end = end_of(*runtime, submit_step(*runtime));
  EXPECT_EQ(end.status, JobStatus::completed);
  EXPECT_EQ(end.result.str(), "mended");
  EXPECT_EQ(notes.size(), 2u);
}

TEST_P(RetryTest, an_observer_hears_of_each_try_that_failed_and_when_the_next_one_begins) {
  runtime = open_with(options(), step_graph([](auto& act) { act.retry(quick(3)); }), succeeds_on(3, 429));
  std::mutex mutex;
  std::vector<Event> retried;
  runtime
      ->observe([&](const Event& event) {
        const std::lock_guard lock(mutex);
        if (event.kind == Event::Kind::activity_retried) retried.push_back(event);
      })
      .keep();
  ASSERT_TRUE(runtime->launch().ok());
  EXPECT_EQ(end_of(*runtime, submit_step(*runtime)).status, JobStatus::completed);
  runtime->stop();
  ASSERT_EQ(retried.size(), 2u);
  for (const Event& event : retried) {
    EXPECT_EQ(event.activity.raw(), "act");
    EXPECT_EQ(event.code, 429);
  }
  EXPECT_LT(retried[0].at, retried[1].at);
}

TEST_P(RetryTest, a_job_that_waits_for_its_next_try_shows_when_and_why) {
  runtime = start_with(options(), step_graph([](auto& act) { act.retry(Retry().first_delay(1h).longest_delay(1h)); }),
                       succeeds_on(9, 503));
  const RunId run = submit_step(*runtime);
  ASSERT_TRUE(comes_true([&] {
    const auto work = act_of(*runtime, run).work;
    return work && work->failures == 1;
  }));
  const ActivityView act = act_of(*runtime, run);
  EXPECT_EQ(act.effect, Effect::intended);
  EXPECT_EQ(act.work->token, "");
  EXPECT_EQ(act.work->failure_code, 503);
  EXPECT_GT(act.work->next_try_at, act.opened_at + 50min);
  EXPECT_EQ(status_of(*runtime, run), JobStatus::running);
}

TEST_P(RetryTest, no_try_begins_later_than_the_policy_allows) {
  runtime = start_with(options(), step_graph([](auto& act) {
                         act.retry(Retry().attempts(100).first_delay(10s).longest_delay(10s).within(5s).when_exhausted(
                             WhenExhausted::park));
                       }),
                       succeeds_on(100));
  EXPECT_EQ(end_of(*runtime, submit_step(*runtime)).status, JobStatus::parked);
  EXPECT_EQ(notes.size(), 1u);
}

INSTANTIATE_TEST_SUITE_P(store, RetryTest, every_setting, setting_name);

class RetryRestart : public LifeTest {};

TEST_P(RetryRestart, a_try_that_waits_for_its_time_is_made_by_the_next_life_of_the_store) {
  const auto graph = [] { return step_graph([](auto& act) { act.retry(Retry().first_delay(200ms).jitter(0)); }); };
  RunId run{0};
  std::atomic<int> runs{0};
  const auto worker = [&](Work& work) {
    ++runs;
    return work.attempt() == 1 ? Reply::error("\"no\"") : Reply::success(std::to_string(work.attempt()));
  };
  {
    auto first = start_with(options(), graph(), worker);
    run = submit_step(*first);
    ASSERT_TRUE(comes_true([&] {
      const auto work = act_of(*first, run).work;
      return work && work->failures == 1;
    }));
  }
  EXPECT_EQ(runs, 1);
  auto second = start_with(options(), graph(), worker);
  EXPECT_EQ(end_of(*second, run).result.str(), "2");
  EXPECT_EQ(runs, 2);
}

INSTANTIATE_TEST_SUITE_P(store, RetryRestart, every_lasting_setting, setting_name);

}  // namespace
}  // namespace pawl
