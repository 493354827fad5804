// Requests on a running job: pause, resume, redrive, interrupt, remove; and on a topic. By the owner, by a runtime that
// was only opened, by another process.
#include <atomic>

#include "life_test.h"
#include "storm/node_process.h"

namespace pawl {
namespace {

using namespace testing;

class ControlTest : public LifeTest {
 protected:
  bool comes_to(RunId run, JobStatus status) {
    return comes_true([&] { return status_of(*runtime, run) == status; });
  }
};

TEST_P(ControlTest, a_paused_job_keeps_the_answer_that_comes_and_goes_on_when_it_is_resumed) {
  Gate gate;
  Notes begun;
  runtime = start_runtime(options(), [&](Work& work) {
    begun.add(work.input().str());
    if (work.input().str() == "x") gate.pass();
    return echo(work);
  });
  const auto job = runtime->start("chain", Payload("x"), {.id = "j"});
  ASSERT_TRUE(job.ok());
  ASSERT_TRUE(comes_true([&] { return begun.size() == 1; }));
  ASSERT_TRUE(job->pause("lunch").ok());
  ASSERT_TRUE(comes_to(job->run(), JobStatus::paused));
  gate.open();  // the running worker replies during the pause
  EXPECT_FALSE(job->wait(100ms).ok());
  EXPECT_EQ(begun.size(), 1u);
  const auto detail = job->inspect();
  ASSERT_TRUE(detail.ok());
  EXPECT_EQ(detail->job.reason, "lunch");
  EXPECT_EQ(detail->collation_key, "569000000000000");  // one paused, t completed, two pending
  ASSERT_TRUE(job->resume().ok());
  EXPECT_EQ(end_of(*runtime, job->run()).result.str(), "x++");
  EXPECT_EQ(begun.all(), (std::vector<std::string>{"x", "x+"}));
}

TEST_P(ControlTest, work_of_a_paused_job_is_handed_to_nobody) {
  runtime = start_with(options(), step_graph(), nullptr);
  const RunId run = submit_step(*runtime);
  ASSERT_TRUE(has_effect(*runtime, run, Effect::intended));
  ASSERT_TRUE(runtime->job(run).pause().ok());
  ASSERT_TRUE(comes_to(run, JobStatus::paused));
  std::atomic<int> runs{0};
  ASSERT_TRUE(runtime
                  ->serve("work",
                          [&](Work& work) {
                            ++runs;
                            return echo(work);
                          })
                  .ok());
  const RunId other = submit_step(*runtime, "other");
  EXPECT_EQ(end_of(*runtime, other).status, JobStatus::completed);
  EXPECT_FALSE(runtime->job(run).wait(50ms).ok());
  EXPECT_EQ(runs, 1);
  EXPECT_TRUE(act_of(*runtime, run).work->held);
  ASSERT_TRUE(runtime->job(run).resume().ok());
  EXPECT_EQ(end_of(*runtime, run).status, JobStatus::completed);
}

TEST_P(ControlTest, a_request_that_the_job_is_in_no_state_for_is_refused_and_says_what_to_do) {
  runtime = start_with(
      options(), step_graph([](auto& act) { act.retry(Retry().attempts(1).when_exhausted(WhenExhausted::park)); }),
      [](Work& work) { return work.input().str() == "x" ? echo(work) : Reply::error("\"no\""); });
  const RunId run = submit_step(*runtime, "done");
  end_of(*runtime, run);
  for (const Status& refused : {runtime->job(run).interrupt(), runtime->job(run).pause(), runtime->job(run).resume(),
                                Status(runtime->job(run).redrive().error())})
    EXPECT_TRUE(fails_with(refused, ErrorCode::invalid, {"job done is completed"}));
  EXPECT_TRUE(fails_with(runtime->job(run).settle({"act", ",0,0"}, Finding::not_done()), ErrorCode::invalid,
                         {"job done is completed"}));
  const RunId parked = submit_step(*runtime, "parked", "bad");
  end_of(*runtime, parked);
  EXPECT_TRUE(fails_with(runtime->job(parked).resume(), ErrorCode::invalid, {"job parked is parked", "redrive it"}));
  EXPECT_TRUE(fails_with(runtime->job(parked).pause(), ErrorCode::invalid, {"only a running job"}));
  EXPECT_TRUE(fails_with(runtime->job(parked).remove(), ErrorCode::invalid,
                         {"only a job that has ended", "interrupt it first"}));
  for (const Status& refused :
       {runtime->job(RunId(77)).interrupt(), runtime->job(RunId(77)).pause(), runtime->job(RunId(77)).resume(),
        Status(runtime->job(RunId(77)).redrive().error()), runtime->job(RunId(77)).remove(),
        runtime->job(RunId(77)).settle({"act", ",0,0"}, Finding::not_done())})
    EXPECT_TRUE(fails_with(refused, ErrorCode::not_found, {"no job has run id 77"}));
  EXPECT_TRUE(
      fails_with(runtime->job(parked).interrupt(std::string(5000, 'x')), ErrorCode::over_limit, {"reason_bytes_max"}));
  EXPECT_TRUE(fails_with(runtime->pause_topic("no topic"), ErrorCode::invalid, {"topic"}));
}

TEST_P(ControlTest, a_parked_job_can_be_interrupted) {
  runtime = start_with(
      options(), step_graph([](auto& act) { act.retry(Retry().attempts(1).when_exhausted(WhenExhausted::park)); }),
      [](Work&) { return Reply::error("\"no\""); });
  const RunId run = submit_step(*runtime);
  EXPECT_EQ(end_of(*runtime, run).status, JobStatus::parked);
  ASSERT_TRUE(runtime->job(run).interrupt("given up").ok());
  ASSERT_TRUE(comes_to(run, JobStatus::interrupted));
  const auto detail = runtime->job(run).inspect();
  ASSERT_TRUE(detail.ok());
  EXPECT_EQ(detail->job.reason, "given up");
  EXPECT_EQ(detail->job.semaphore, 0);
  EXPECT_TRUE(detail->job.closed());
  EXPECT_EQ(detail->collation_key.find_first_of("589"), std::string::npos) << detail->collation_key;
}

TEST_P(ControlTest, many_pauses_and_resumes_in_a_row_end_where_the_last_one_says) {
  Gate gate;
  runtime = start_with(options(), step_graph(), [&](Work& work) {
    gate.pass();
    return echo(work);
  });
  const RunId run = submit_step(*runtime);
  for (int i = 0; i < 20; ++i) {
    ASSERT_TRUE(runtime->job(run).pause().ok()) << i;
    ASSERT_TRUE(runtime->job(run).resume().ok()) << i;
  }
  gate.open();
  EXPECT_EQ(end_of(*runtime, run).status, JobStatus::completed);
}

TEST_P(ControlTest, an_observer_hears_of_a_pause_a_resume_and_a_park_once_each) {
  runtime = open_with(options(),
                      step_graph([](auto& act) { act.retry(Retry().attempts(1).when_exhausted(WhenExhausted::park)); }),
                      nullptr);
  Notes seen;
  runtime
      ->observe([&](const Event& event) {
        if (event.kind == Event::Kind::job_paused) seen.add("paused");
        if (event.kind == Event::Kind::job_resumed) seen.add("resumed");
        if (event.kind == Event::Kind::job_parked) seen.add("parked");
        if (event.kind == Event::Kind::job_closed) seen.add("closed");
      })
      .keep();
  ASSERT_TRUE(runtime->launch().ok());
  const RunId run = submit_step(*runtime);
  ASSERT_TRUE(has_effect(*runtime, run, Effect::intended));
  ASSERT_TRUE(runtime->job(run).pause().ok());
  ASSERT_TRUE(comes_to(run, JobStatus::paused));
  ASSERT_TRUE(runtime->job(run).resume().ok());
  ASSERT_TRUE(comes_to(run, JobStatus::running));
  ASSERT_TRUE(runtime->serve("work", [](Work&) { return Reply::error("\"no\""); }).ok());
  EXPECT_EQ(end_of(*runtime, run).status, JobStatus::parked);
  ASSERT_TRUE(runtime->job(run).interrupt().ok());
  ASSERT_TRUE(comes_to(run, JobStatus::interrupted));
  runtime->stop();
  EXPECT_EQ(seen.all(), (std::vector<std::string>{"paused", "resumed", "parked", "closed"}));
}

TEST_P(ControlTest, an_observer_cannot_wait_for_what_it_asks_and_hears_so) {
  runtime = open_with(options(), step_graph(), nullptr);
  std::mutex mutex;
  std::vector<Status> heard;
  runtime
      ->observe([&](const Event& event) {
        if (event.kind != Event::Kind::activity_opened) return;
        const std::lock_guard lock(mutex);
        heard.push_back(runtime->job(event.run).pause());
        heard.push_back(runtime->pause_topic("work"));
      })
      .keep();
  ASSERT_TRUE(runtime->launch().ok());
  submit_step(*runtime);
  ASSERT_TRUE(comes_true([&] {
    const std::lock_guard lock(mutex);
    return heard.size() >= 2;
  }));
  runtime->stop();
  for (const Status& status : heard) EXPECT_TRUE(fails_with(status, ErrorCode::invalid, {"observer"}));
}

TEST_P(ControlTest, nothing_of_a_paused_topic_is_handed_out_until_it_is_resumed) {
  std::atomic<int> runs{0};
  runtime = start_with(options(), step_graph(), [&](Work& work) {
    ++runs;
    return echo(work);
  });
  ASSERT_TRUE(runtime->pause_topic("work").ok());
  EXPECT_EQ(*runtime->paused_topics(), std::vector<std::string>{"work"});
  std::vector<RunId> waiting;
  for (int i = 0; i < 10; ++i) waiting.push_back(submit_step(*runtime, "j" + std::to_string(i)));
  EXPECT_FALSE(runtime->job(waiting.front()).wait(100ms).ok());
  EXPECT_EQ(runs, 0);
  ASSERT_TRUE(runtime->resume_topic("work").ok());
  EXPECT_TRUE(runtime->paused_topics()->empty());
  for (const RunId run : waiting) EXPECT_EQ(end_of(*runtime, run).status, JobStatus::completed);
  EXPECT_EQ(runs, 10);
}

TEST_P(ControlTest, a_removed_job_is_gone_and_its_id_free_unless_it_is_kept) {
  runtime = start_with(options(), step_graph(), echo);
  const RunId first = submit_step(*runtime, "free");
  end_of(*runtime, first);
  ASSERT_TRUE(runtime->job(first).remove().ok());
  EXPECT_TRUE(fails_with(runtime->job(first).inspect(), ErrorCode::not_found, {}));
  EXPECT_TRUE(fails_with(runtime->job(first).wait(1s), ErrorCode::not_found, {}));
  EXPECT_TRUE(fails_with(runtime->job(first).remove(), ErrorCode::not_found, {}));
  const auto again = runtime->start("step", Payload("x"), {.id = "free"});
  ASSERT_TRUE(again.ok());
  EXPECT_TRUE(again->created());
  EXPECT_NE(again->run(), first);
  const RunId kept = submit_step(*runtime, "kept");
  end_of(*runtime, kept);
  ASSERT_TRUE(runtime->job(kept).remove({1h}).ok());
  const auto late = runtime->start("step", Payload("x"), {.id = "kept"});
  ASSERT_TRUE(late.ok());
  EXPECT_FALSE(late->created());
  EXPECT_EQ(late->run(), kept);
  EXPECT_TRUE(fails_with(runtime->job(kept).remove({-1s}), ErrorCode::invalid, {"keep_id"}));
}

TEST_P(ControlTest, after_stop_a_request_is_refused_at_once) {
  runtime = start_with(options(), step_graph(), nullptr);
  const RunId run = submit_step(*runtime);
  runtime->stop();
  EXPECT_TRUE(fails_with(runtime->job(run).pause(), ErrorCode::retry_later, {"stopped"}));
}

TEST_P(ControlTest, requests_from_many_threads_while_it_stops_are_all_answered) {
  runtime = start_with(options(), step_graph(), nullptr);
  std::vector<RunId> runs;
  for (int i = 0; i < 4; ++i) runs.push_back(submit_step(*runtime, std::to_string(i)));
  std::atomic<int> done{0}, refused{0}, other{0};
  std::vector<std::thread> threads;
  for (const RunId run : runs)
    threads.emplace_back([&, run] {
      for (;;) {
        Status asked = runtime->job(run).pause();
        if (asked) asked = runtime->job(run).resume();
        if (asked) {
          ++done;
          continue;
        }
        ++(asked.error().code == ErrorCode::retry_later ? refused : other);
        return;
      }
    });
  ASSERT_TRUE(comes_true([&] { return done > 10; }));
  runtime->stop();
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(refused, 4);
  EXPECT_EQ(other, 0);
}

INSTANTIATE_TEST_SUITE_P(store, ControlTest, every_setting, setting_name);

class ControlElsewhere : public ::testing::Test {
 protected:
  bool ask(std::vector<std::string> words) {
    words.insert(words.begin(), "ask");
    storm::NodeProcess node({.program = LIFE_NODE, .dir = dir.path(), .slot = "c", .flags = std::move(words)});
    return node.wait(20s) == 0;
  }
  bool comes_to(RunId run, JobStatus status) {
    return comes_true([&] { return status_of(*runtime, run) == status; });
  }
  TempDir dir;
  std::unique_ptr<Runtime> runtime;
};

TEST_F(ControlElsewhere, another_process_may_ask_for_everything_while_this_one_runs_the_jobs) {
  std::atomic<int> wrong{1};
  runtime =
      start_with({.store = dir / "store.db"},
                 step_graph([](auto& act) { act.retry(Retry().attempts(1).when_exhausted(WhenExhausted::park)); }),
                 [&](Work& work) { return wrong-- > 0 ? Reply::error("\"no\"") : echo(work); });
  ASSERT_TRUE(ask({"pause_topic", "work"}));
  EXPECT_EQ(*runtime->paused_topics(), std::vector<std::string>{"work"});
  const RunId run = submit_step(*runtime);
  const std::string name = std::to_string(run.raw());
  ASSERT_TRUE(ask({"pause", name}));
  ASSERT_TRUE(comes_to(run, JobStatus::paused));
  EXPECT_FALSE(ask({"pause", name}));
  ASSERT_TRUE(ask({"resume", name}));
  ASSERT_TRUE(comes_to(run, JobStatus::running));
  ASSERT_TRUE(ask({"resume_topic", "work"}));
  ASSERT_TRUE(comes_to(run, JobStatus::parked));
  ASSERT_TRUE(ask({"redrive", name}));
  EXPECT_EQ(end_of(*runtime, run).status, JobStatus::completed);
  ASSERT_TRUE(ask({"remove", name}));
  EXPECT_TRUE(fails_with(runtime->job(run).inspect(), ErrorCode::not_found, {}));
  ASSERT_TRUE(ask({"pause_topic", "work"}));
  const RunId other = submit_step(*runtime, "other");
  ASSERT_TRUE(ask({"interrupt", std::to_string(other.raw())}));
  ASSERT_TRUE(comes_to(other, JobStatus::interrupted));
}

TEST_F(ControlElsewhere, what_was_asked_while_nobody_ran_is_carried_out_by_the_next_life) {
  {
    runtime = start_with({.store = dir / "store.db"}, step_graph(), nullptr);
    submit_step(*runtime, "a");
    submit_step(*runtime, "b");
    runtime.reset();
  }
  auto guest = open_with({.store = dir / "store.db"}, step_graph(), nullptr);
  const RunId a = (*guest->find("a"))->run();
  const RunId b = (*guest->find("b"))->run();
  ASSERT_TRUE(guest->job(a).interrupt("asked in between").ok());
  ASSERT_TRUE(guest->job(b).pause().ok());
  EXPECT_TRUE(fails_with(guest->job(b).pause(), ErrorCode::invalid, {"job b is paused"}));  // durable counts
  EXPECT_TRUE(fails_with(guest->job(a).interrupt(), ErrorCode::invalid, {"job a is interrupted"}));
  EXPECT_EQ(status_of(*guest, a), JobStatus::running) << "nobody runs: it is asked, not done";
  guest.reset();
  runtime = start_with({.store = dir / "store.db"}, step_graph(), echo);
  ASSERT_TRUE(comes_to(a, JobStatus::interrupted));
  ASSERT_TRUE(comes_to(b, JobStatus::paused));
  ASSERT_TRUE(runtime->job(b).resume().ok());
  EXPECT_EQ(end_of(*runtime, b).status, JobStatus::completed);
}

TEST_F(ControlElsewhere, a_started_guest_asks_as_well_as_the_owner) {
  runtime = start_with({.store = dir / "store.db"}, step_graph(), nullptr);
  const RunId run = submit_step(*runtime);
  auto guest = start_with({.store = dir / "store.db"}, step_graph(), nullptr);
  ASSERT_TRUE(guest->job(run).pause().ok());
  ASSERT_TRUE(comes_to(run, JobStatus::paused));
  EXPECT_FALSE(guest->owns());
  ASSERT_TRUE(guest->job(run).resume().ok());
  ASSERT_TRUE(comes_to(run, JobStatus::running));
  ASSERT_TRUE(guest->job(run).interrupt().ok());
  EXPECT_EQ(end_of(*guest, run).status, JobStatus::interrupted);
}

}  // namespace
}  // namespace pawl
