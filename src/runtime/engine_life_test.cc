// The engine and the clock: tries, timeouts, doubts, requests, removal. Step by step over the memory store.
#include "runtime/engine_bench.h"

namespace pawl::runtime {
namespace {

using namespace std::chrono_literals;
using core::JobStatus;
using core::ReplyStatus;

Result<Graph> one(const std::function<void(GraphBuilder&)>& policy) {
  GraphBuilder builder("g");
  builder.trigger("t").worker("a", "work").after("t");
  policy(builder);
  return builder.build();
}

class EngineLife : public ::testing::TestWithParam<core::Fusion> {};
INSTANTIATE_TEST_SUITE_P(fusion, EngineLife, testing::Values(core::Fusion::on, core::Fusion::off),
                         [](const auto& one_of) { return one_of.param == core::Fusion::on ? "on" : "off"; });

TEST_P(EngineLife, a_failed_try_comes_back_when_its_time_has_come_and_not_before) {
  Bench bench(GetParam());
  bench.deploy(one([](auto& b) { b.retry(Retry().attempts(3).first_delay(10s).jitter(0)); }));
  bench.submit("j", "g");
  const core::WorkItem first = bench.next_work();
  bench.engine->answer(reply(first, ReplyStatus::error, 500));
  bench.settle();
  EXPECT_TRUE(bench.events.work.empty());
  const auto wake = bench.engine->next_wake();
  ASSERT_TRUE(wake.has_value());
  bench.wait(4s);
  bench.wait(5s);
  EXPECT_TRUE(bench.events.work.empty()) << "too early";
  bench.wait(2s);
  const core::WorkItem second = bench.next_work();
  EXPECT_EQ(second.request, first.request);
  EXPECT_EQ(second.runs, 2u);
  bench.engine->answer(reply(second));
  bench.settle();
  EXPECT_EQ(bench.state("j").job.status, JobStatus::completed);
  EXPECT_EQ(bench.engine->free_slots(), 100u);
}

TEST_P(EngineLife, a_run_that_takes_too_long_is_told_and_tried_again) {
  Bench bench(GetParam());
  bench.deploy(one([](auto& b) { b.retry(Retry().attempts(2).first_delay(1s)).timeouts(Timeouts().attempt(5s)); }));
  bench.submit("j", "g");
  const core::WorkItem slow = bench.next_work();
  bench.wait(6s);
  ASSERT_EQ(bench.events.cancelled.size(), 1u);
  EXPECT_EQ(bench.events.cancelled[0].token, slow.token);
  bench.wait(2s);
  const core::WorkItem again = bench.next_work();
  bench.engine->answer(reply(slow));  // too late: somebody else has it
  bench.settle();
  EXPECT_EQ(bench.state("j").job.status, JobStatus::running);
  bench.engine->answer(reply(again));
  bench.settle();
  EXPECT_EQ(bench.state("j").job.status, JobStatus::completed);
  EXPECT_EQ(bench.engine->free_slots(), 100u);
}

TEST_P(EngineLife, work_that_nobody_takes_runs_into_its_queue_timeout) {
  Bench bench(GetParam());
  bench.deploy(GraphBuilder("g").trigger("t").worker("a", "unserved").after("t").timeouts(Timeouts().queue(5s)).build());
  bench.submit("j", "g");
  bench.settle();
  bench.wait(6s);
  EXPECT_EQ(bench.state("j").job.status, JobStatus::failed);
  EXPECT_EQ(bench.state("j").activities()[1].code, 408);
}

TEST_P(EngineLife, heartbeats_keep_a_run_alive_and_the_next_run_reads_the_last_one) {
  Bench bench(GetParam());
  bench.deploy(one([](auto& b) { b.retry(Retry().attempts(2).first_delay(1s)).timeouts(Timeouts().heartbeat(5s)); }));
  bench.submit("j", "g");
  const core::WorkItem item = bench.next_work();
  const WorkRun run{WorkRef{item.run, item.activity}, item.token};
  for (const char* progress : {"1", "2", "3"}) {
    bench.wait(4s);
    bench.engine->heartbeat(run, progress);
    bench.settle();
    EXPECT_TRUE(bench.events.cancelled.empty());
  }
  bench.wait(6s);
  EXPECT_EQ(bench.events.cancelled.size(), 1u) << "it fell silent";
  bench.wait(2s);
  EXPECT_EQ(bench.next_work().life.progress, Payload("3"));
}

TEST_P(EngineLife, work_for_later_is_answered_by_token_or_handed_out_again) {
  for (const bool answered : {true, false}) {
    Bench bench(GetParam());
    bench.deploy(one([](auto&) {}));
    bench.submit("j", "g");
    const core::WorkItem item = bench.next_work();
    bench.engine->detach(WorkRun{WorkRef{item.run, item.activity}, item.token}, 60s);
    bench.settle();
    EXPECT_EQ(bench.engine->free_slots(), 100u);
    for (int i = 0; i < 5; ++i) bench.wait(5s);
    EXPECT_TRUE(bench.events.work.empty());
    if (answered) {
      const core::Message message{item.request.derive(core::Guid::Purpose::response_final, 0),
                                  core::Response{item.activity, ReplyStatus::success, 200, item.token, "later"}};
      bench.engine->request(store::Respond{item.run, item.activity, item.token, message}, 3);
      bench.settle();
      EXPECT_EQ(bench.state("j").job.status, JobStatus::completed);
      EXPECT_EQ(bench.state("j").job.result, Payload("later"));
    } else {
      for (int i = 0; i < 8; ++i) bench.wait(5s);
      EXPECT_EQ(bench.next_work().runs, 2u);
    }
  }
}

TEST_P(EngineLife, a_delayed_job_starts_when_it_should_and_costs_no_memory_before) {
  Bench bench(GetParam());
  bench.deploy(one([](auto&) {}));
  SubmitRequest request{default_namespace(), JobId("j"), GraphName("g"), "{}", core::JobSecret(core::Guid{1, 1})};
  request.delay = 30s;
  bench.engine->submit(std::move(request), 1);
  bench.settle();
  EXPECT_EQ(bench.engine->hot_jobs(), 0u);
  for (int i = 0; i < 5; ++i) bench.wait(5s);
  EXPECT_TRUE(bench.events.work.empty());
  bench.wait(6s);
  bench.engine->answer(reply(bench.next_work()));
  bench.settle();
  EXPECT_EQ(bench.state("j").job.status, JobStatus::completed);
  EXPECT_EQ(bench.state("j").activities()[0].ledger.leg1_attempts(), 1u);
}

TEST_P(EngineLife, a_job_that_takes_too_long_is_interrupted_and_its_worker_told) {
  Bench bench(GetParam());
  bench.deploy(one([](auto&) {}));
  SubmitRequest request{default_namespace(), JobId("j"), GraphName("g"), "{}", core::JobSecret(core::Guid{1, 1})};
  request.end_within = 5s;
  bench.engine->submit(std::move(request), 1);
  const core::WorkItem item = bench.next_work();
  bench.wait(6s);
  EXPECT_EQ(bench.state("j").job.status, JobStatus::interrupted);
  ASSERT_EQ(bench.events.cancelled.size(), 1u);
  EXPECT_EQ(bench.events.cancelled[0].token, item.token);
  bench.engine->answer(reply(item));
  bench.settle();
  EXPECT_EQ(bench.engine->free_slots(), 100u);
  EXPECT_EQ(bench.events.ended.size(), 1u);
}

TEST_P(EngineLife, a_paused_job_hands_out_nothing_and_keeps_the_answers) {
  Bench bench(GetParam());
  bench.deploy(GraphBuilder("g").trigger("t").worker("a", "work").after("t").worker("b", "work").after("a").build());
  bench.submit("j", "g");
  const core::WorkItem a = bench.next_work();
  bench.ask("j", core::Pause{"wait"});
  EXPECT_EQ(bench.state("j").job.status, JobStatus::paused);
  bench.engine->answer(reply(a));
  bench.settle();
  bench.engine->inbox_changed();
  bench.settle();
  EXPECT_TRUE(bench.events.work.empty());
  bench.ask("j", core::Proceed{});
  bench.engine->answer(reply(bench.next_work()));
  bench.settle();
  EXPECT_EQ(bench.state("j").job.status, JobStatus::completed);
  EXPECT_EQ(bench.engine->free_slots(), 100u);
}

TEST_P(EngineLife, a_redrive_that_comes_while_the_job_is_being_parked_is_heard) {
  Bench bench(GetParam());
  bench.deploy(one([](auto& b) { b.retry(Retry().attempts(1)); }));
  bench.submit("j", "g");
  bench.engine->answer(reply(bench.next_work(), ReplyStatus::error, 500));
  bench.engine->pump();
  auto group = bench.engine->take_group();  // the bundle that parks it is on its way
  ASSERT_TRUE(group.has_value());
  const RunId run = **bench.store.find_run(default_namespace(), JobId("j"));
  store::Deliver deliver;
  deliver.envelope.to = run;
  deliver.envelope.message = {core::Guid{5, 5}, core::Redrive{}};
  bench.engine->request(std::move(deliver), 9);
  auto result = bench.store.commit(group->operations);
  bench.engine->finished(std::move(*group), std::move(result));
  bench.engine->answer(reply(bench.next_work()));
  bench.settle();
  EXPECT_EQ(bench.state("j").job.status, JobStatus::completed);
}

TEST_P(EngineLife, a_lost_run_that_may_act_once_is_not_handed_out_again) {
  for (const WhenUnknown then : {WhenUnknown::hold, WhenUnknown::retry, WhenUnknown::ask_probe}) {
    Bench bench(GetParam());
    bench.deploy(one([&](auto& b) { b.at_most_once(then); }));
    bench.submit("j", "g");
    const core::WorkItem item = bench.next_work();
    bench.events = Recorder{};  // the process dies
    bench.boot(GetParam(), "e1", 2);
    bench.engine->offer_probe(Topic("work"));
    bench.settle();
    const core::WorkItem* left = bench.state("j").find_work(core::ActivitySeq(1));
    ASSERT_NE(left, nullptr);
    if (then == WhenUnknown::retry) {
      EXPECT_EQ(bench.next_work().request, item.request);
      continue;
    }
    EXPECT_TRUE(bench.events.work.empty());
    EXPECT_TRUE(bench.state("j").find_work(core::ActivitySeq(1))->life.unknown);
    if (then == WhenUnknown::hold) {
      EXPECT_TRUE(bench.events.probes.empty());
      bench.ask("j", core::Verdict{core::ActivitySeq(1), core::Verdict::Kind::done, 200, "seen"});
    } else {
      ASSERT_EQ(bench.events.probes.size(), 1u);
      bench.engine->inbox_changed();
      bench.settle();
      EXPECT_EQ(bench.events.probes.size(), 1u) << "asked once";
      const core::WorkItem& asked = bench.events.probes[0];
      bench.engine->probed({asked.run, asked.activity, asked.token, asked.request, asked.runs, ProbeAnswer::Kind::done, 200, "seen"});
      bench.settle();
    }
    EXPECT_EQ(bench.state("j").job.status, JobStatus::completed);
    EXPECT_EQ(bench.state("j").job.result, Payload("seen"));
  }
}

TEST_P(EngineLife, a_job_that_need_not_stay_goes_and_then_its_id) {
  Bench bench(GetParam());
  bench.deploy(one([](auto&) {}));
  SubmitRequest request{default_namespace(), JobId("j"), GraphName("g"), "{}", core::JobSecret(core::Guid{1, 1})};
  request.keep = 60s;
  bench.engine->submit(std::move(request), 1);
  bench.engine->answer(reply(bench.next_work()));
  bench.settle();
  const RunId run = bench.state("j").job.run;
  bench.wait(30s);
  EXPECT_TRUE(bench.store.read_job(run)->has_value());
  bench.wait(31s);
  EXPECT_FALSE(bench.store.read_job(run)->has_value());
  EXPECT_TRUE(bench.store.find_run(default_namespace(), JobId("j"))->has_value()) << "the id stays taken";
  bench.wait(limits::start_key_keep + 1s);
  bench.wait(1s);
  EXPECT_FALSE(bench.store.find_run(default_namespace(), JobId("j"))->has_value());
}

TEST_P(EngineLife, nothing_of_a_paused_topic_is_handed_out) {
  Bench bench(GetParam());
  bench.deploy(one([](auto&) {}));
  bench.engine->request(store::PauseTopic{Topic("work"), true}, 1);
  bench.settle();
  bench.submit("j", "g");
  bench.settle();
  EXPECT_TRUE(bench.events.work.empty());
  bench.engine->request(store::PauseTopic{Topic("work"), false}, 2);
  bench.engine->answer(reply(bench.next_work()));
  bench.settle();
  EXPECT_EQ(bench.state("j").job.status, JobStatus::completed);
}

TEST_P(EngineLife, a_timer_is_due_across_a_restart) {
  Bench bench(GetParam());
  bench.deploy(one([](auto& b) { b.retry(Retry().attempts(2).first_delay(60s).jitter(0)); }));
  bench.submit("j", "g");
  bench.engine->answer(reply(bench.next_work(), ReplyStatus::error, 500));
  bench.settle();
  bench.events = Recorder{};
  bench.boot(GetParam(), "e1", 2);
  bench.settle();
  EXPECT_TRUE(bench.events.work.empty());
  bench.wait(61s);
  bench.wait(1s);
  EXPECT_EQ(bench.next_work().runs, 2u);
}

}  // namespace
}  // namespace pawl::runtime
