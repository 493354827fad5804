// The engine and time: attempts, timeouts, unknown effects, requests, removal. Step by step over the memory store.
#include <algorithm>
#include <functional>
#include <set>

#include "runtime/engine_bench.h"

namespace pawl::runtime {
namespace {

using namespace std::chrono_literals;
using core::JobStatus;
using core::ReplyStatus;

Result<AppText> one(const std::function<void(GraphBuilder&)>& policy) {
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
  bench.engine->answer(reply(slow));  // too late: another worker has it
  bench.settle();
  EXPECT_EQ(bench.state("j").job.status, JobStatus::running);
  bench.engine->answer(reply(again));
  bench.settle();
  EXPECT_EQ(bench.state("j").job.status, JobStatus::completed);
  EXPECT_EQ(bench.engine->free_slots(), 100u);
}

TEST_P(EngineLife, work_that_nobody_takes_runs_into_its_queue_timeout) {
  Bench bench(GetParam());
  bench.deploy(
      GraphBuilder("g").trigger("t").worker("a", "unserved").after("t").timeouts(Timeouts().queue(5s)).build());
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
                                  core::Reply{item.activity, ReplyStatus::success, 200, item.token, "later"}};
      bench.engine->request(store::DeliverReply{item.run, item.activity, item.token, message}, 3);
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
  bench.deploy(one([](auto& b) { b.retry(Retry().attempts(1).when_exhausted(WhenExhausted::park)); }));
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
    bench.events = Recorder{};  // the process crashes
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
      bench.engine->probed(
          {asked.run, asked.activity, asked.token, asked.request, asked.runs, ProbeAnswer::Kind::done, 200, "seen"});
      bench.settle();
    }
    EXPECT_EQ(bench.state("j").job.status, JobStatus::completed);
    EXPECT_EQ(bench.state("j").job.result, Payload("seen"));
  }
}

TEST_P(EngineLife, what_a_probe_was_asked_is_forgotten_when_its_run_is_in_doubt_no_more) {
  // Whatever ends the unknown state, no memory of the probe stays.
  const auto probe_says = [](ProbeAnswer::Kind kind) {
    return [kind](Bench& bench) {
      const core::WorkItem asked = bench.events.probes[0];
      bench.engine->probed({asked.run, asked.activity, asked.token, asked.request, asked.runs, kind, 200, "seen"});
    };
  };
  const std::pair<const char*, std::function<void(Bench&)>> ends[] = {
      {"the probe: it was done", probe_says(ProbeAnswer::Kind::done)},
      {"the probe: it was not", probe_says(ProbeAnswer::Kind::not_done)},
      {"a person",
       [](Bench& bench) {
         bench.ask("j", core::Verdict{core::ActivitySeq(1), core::Verdict::Kind::done, 200, "seen"});
       }},
      {"an interrupt",
       [](Bench& bench) {
         bench.ask("j", core::Interrupt{410, "enough"});
       }},
  };
  for (const auto& [who, end] : ends) {
    SCOPED_TRACE(who);
    Bench bench(GetParam());
    bench.deploy(one([&](auto& b) { b.at_most_once(WhenUnknown::ask_probe); }));
    bench.submit("j", "g");
    bench.next_work();
    bench.events = Recorder{};  // the process crashes
    bench.boot(GetParam(), "e1", 2);
    bench.engine->offer_probe(Topic("work"));
    bench.settle();
    ASSERT_EQ(bench.events.probes.size(), 1u);
    EXPECT_EQ(bench.engine->probes_remembered(), 1u);
    end(bench);
    bench.settle();
    EXPECT_EQ(bench.engine->probes_remembered(), 0u);
  }
}

TEST_P(EngineLife, a_burst_of_removals_is_many_turns) {
  // A turn takes a limited number of removals, even if many more are due at the same moment; in the end all are
  // removed.
  Bench bench(GetParam());
  bench.deploy(one([](auto&) {}));
  constexpr std::size_t jobs = 3 * limits::due_per_turn_max;
  for (std::size_t i = 0; i < jobs; ++i) {
    SubmitRequest request{default_namespace(), JobId("j" + std::to_string(i)), GraphName("g"), "{}",
                          core::JobSecret(core::Guid{1, i + 1})};
    request.keep = 60s;
    bench.engine->submit(std::move(request), 1);
  }
  bench.run([](const core::WorkItem& item) { return reply(item); });
  bench.clock.advance(61s);
  bench.engine->tick();
  std::size_t removed = 0, turns = 0, ahead = 0;
  for (; removed < jobs && turns < 100; ++turns) {
    bench.engine->pump();
    const bool full = bench.engine->operations_waiting() >= limits::due_per_turn_max;
    EXPECT_FALSE(full && bench.engine->has_due()) << "a group is bounded";
    auto group = bench.engine->take_group();
    ASSERT_TRUE(group);
    const auto count =
        static_cast<std::size_t>(std::count_if(group->operations.begin(), group->operations.end(), [](const auto& one) {
          return std::holds_alternative<store::RemoveJob>(one);
        }));
    EXPECT_LE(count, limits::due_per_turn_max);
    removed += count;
    ahead += bench.engine->has_due() ? 1 : 0;
    auto result = bench.store.commit(group->operations);
    bench.engine->finished(std::move(*group), std::move(result));
    const auto wake = bench.engine->next_wake();
    EXPECT_TRUE(removed == jobs || (wake && *wake <= bench.clock.monotonic() + 20ms)) << "the rest is not waited for";
    bench.clock.advance(20ms);
  }
  EXPECT_EQ(removed, jobs);
  EXPECT_GT(ahead, 0u) << "the next ones need not wait for a group that is on its way";
  EXPECT_FALSE(bench.store.read_job(core::make_run(core::LaneId(1), 1))->has_value());
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

// --- threads that begin later than the claim

// An attempt may be cancelled more than once.
std::set<WorkRun> told(const Bench& bench) { return {bench.events.cancelled.begin(), bench.events.cancelled.end()}; }

TEST_P(EngineLife, the_time_of_an_attempt_begins_with_its_thread_and_not_with_its_claim) {
  Bench bench(GetParam());
  bench.deploy(one([](auto& b) { b.timeouts(Timeouts().attempt(5s).heartbeat(4s)); }));
  bench.submit("j", "g");
  const core::WorkItem item = bench.next_queued();
  EXPECT_EQ(bench.state("j").find_work(item.activity)->life.attempt_by, Instant());
  for (int i = 0; i < 6; ++i) bench.wait(5s);
  EXPECT_TRUE(bench.events.cancelled.empty()) << "it waits for a thread";
  EXPECT_EQ(bench.state("j").job.status, JobStatus::running);
  bench.engine->begun(run_of(item));
  bench.wait(3s);
  bench.engine->heartbeat(run_of(item), {});
  bench.wait(1s);
  EXPECT_TRUE(bench.events.cancelled.empty());
  bench.wait(2s);
  EXPECT_EQ(told(bench), (std::set<WorkRun>{run_of(item)}));
  EXPECT_EQ(bench.state("j").job.status, JobStatus::failed);
  EXPECT_EQ(bench.state("j").activities()[1].code, 408);
}

TEST_P(EngineLife, every_run_of_an_item_has_its_time) {
  Bench bench(GetParam());
  bench.deploy(
      one([](auto& b) { b.retry(Retry().attempts(4).first_delay(1s).jitter(0)).timeouts(Timeouts().attempt(5s)); }));
  bench.submit("j", "g");
  for (std::uint32_t i = 1; i <= 3; ++i) {
    const core::WorkItem item = bench.next_work();
    EXPECT_EQ(item.runs, i);
    bench.wait(4s);
    EXPECT_EQ(told(bench).size(), i - 1);
    bench.wait(2s);
    ASSERT_EQ(told(bench).size(), i) << "run " << i;
    EXPECT_TRUE(told(bench).contains(run_of(item)));
    bench.wait(4s);
    bench.wait(4s);
  }
  bench.engine->answer(reply(bench.next_work()));
  bench.settle();
  EXPECT_EQ(bench.state("j").job.status, JobStatus::completed);
}

TEST_P(EngineLife, what_waits_for_a_thread_beyond_its_queue_timeout_is_withdrawn_and_ends_with_408) {
  Bench bench(GetParam());
  bench.deploy(one([](auto& b) { b.timeouts(Timeouts().queue(5s)); }));
  bench.submit("j", "g");
  bench.submit("k", "g");
  const core::WorkItem first = bench.next_queued();
  const core::WorkItem second = bench.next_queued();
  bench.wait(3s);
  bench.engine->begun(run_of(first));
  bench.wait(3s);
  ASSERT_EQ(bench.events.withdrawn.size(), 1u);
  EXPECT_EQ(bench.events.withdrawn[0], run_of(second));
  bench.engine->give_back(second, core::Began::no);
  bench.settle();
  EXPECT_EQ(bench.state("k").job.status, JobStatus::failed);
  EXPECT_NE(bench.state("k").job.reason.find("queue timeout"), std::string::npos) << bench.state("k").job.reason;
  bench.engine->answer(reply(first));
  bench.settle();
  EXPECT_EQ(bench.state("j").job.status, JobStatus::completed);
  EXPECT_EQ(bench.engine->free_slots(), 100u);
}

TEST_P(EngineLife, of_work_that_may_act_at_most_once_no_more_is_claimed_than_threads_can_begin) {
  Bench bench(GetParam());
  bench.engine->set_threads(3);
  bench.deploy(one([](auto& b) { b.at_most_once(WhenUnknown::hold); }));
  for (int i = 0; i < 10; ++i) bench.submit("j" + std::to_string(i), "g");
  std::size_t done = 0;
  for (bench.settle(); !bench.events.work.empty(); bench.settle()) {
    EXPECT_LE(bench.events.work.size(), 3u);
    bench.engine->answer(reply(bench.next_work()));
    ++done;
  }
  EXPECT_EQ(done, 10u);
  EXPECT_EQ(bench.events.ended.size(), 10u);
  EXPECT_EQ(bench.engine->free_slots(), 100u);
}

TEST_P(EngineLife, ordinary_work_goes_on_beside_work_that_may_act_at_most_once) {
  Bench bench(GetParam());
  bench.engine->set_threads(1);
  bench.deploy(one([](auto& b) { b.at_most_once(WhenUnknown::hold); }));
  bench.deploy(GraphBuilder("o").trigger("t").worker("a", "work").after("t").build());
  for (int i = 0; i < 3; ++i) bench.submit("once" + std::to_string(i), "g");
  for (int i = 0; i < 3; ++i) bench.submit("often" + std::to_string(i), "o");
  bench.settle();
  EXPECT_EQ(bench.events.work.size(), 4u) << "one of the first kind and all of the second";
}

// --- stops

TEST_P(EngineLife, what_a_stopping_engine_gives_back_was_not_handed_out) {
  Bench bench(GetParam());
  bench.deploy(one([](auto&) {}));
  bench.submit("j", "g");
  for (int stops = 0; stops < 12; ++stops) {
    const core::WorkItem item = stops % 2 == 0 ? bench.next_queued() : bench.next_work();
    ASSERT_EQ(item.runs, 1u) << "after " << stops << " stops";
    bench.engine->stop();
    bench.engine->give_back(item, stops % 2 == 0 ? core::Began::no : core::Began::yes);
    bench.settle();
    EXPECT_TRUE(bench.engine->drained());
    bench.engine->release_lanes();
    bench.settle();
    bench.boot(GetParam(), "e" + std::to_string(stops + 2), static_cast<std::uint64_t>(stops + 2));
  }
  bench.engine->answer(reply(bench.next_work()));
  bench.settle();
  EXPECT_EQ(bench.state("j").job.status, JobStatus::completed);
}

TEST_P(EngineLife, a_run_that_began_and_may_act_at_most_once_is_in_doubt_after_a_stop) {
  for (const bool began : {false, true}) {
    Bench bench(GetParam());
    bench.deploy(one([](auto& b) { b.at_most_once(WhenUnknown::hold); }));
    bench.submit("j", "g");
    const core::WorkItem item = began ? bench.next_work() : bench.next_queued();
    bench.engine->stop();
    bench.engine->give_back(item, began ? core::Began::yes : core::Began::no);
    bench.settle();
    bench.engine->release_lanes();
    bench.settle();
    bench.boot(GetParam(), "e2", 2);
    bench.settle();
    EXPECT_EQ(bench.state("j").find_work(item.activity)->life.unknown, began);
    EXPECT_EQ(bench.events.work.size(), began ? 0u : 1u);
  }
}

TEST_P(EngineLife, a_word_of_a_former_owner_does_not_give_back_what_its_successor_claimed) {
  Bench bench(GetParam());
  bench.deploy(one([](auto&) {}));
  bench.submit("j", "g");
  const core::WorkItem first = bench.next_queued();
  bench.engine->stop();
  bench.engine->give_back(first, core::Began::no);
  bench.settle();
  bench.engine->release_lanes();
  bench.settle();
  bench.boot(GetParam(), "e2", 2);
  const core::WorkItem second = bench.next_work();
  EXPECT_EQ(second.runs, first.runs);
  EXPECT_NE(second.token, first.token);
  const store::Operation late =
      store::ReleaseWork{first.run, first.activity, first.token, first.epoch, core::Began::no};
  EXPECT_EQ(bench.store.commit({&late, 1})->front().kind, store::OutcomeKind::fenced);
  EXPECT_EQ(*bench.state("j").find_work(first.activity), second);
}

// --- workers that do not return

TEST_P(EngineLife, the_slot_of_a_worker_that_does_not_return_is_free_and_its_late_word_settles_a_doubt) {
  Bench bench(GetParam());
  bench.engine->set_threads(1);
  bench.deploy(one([](auto& b) { b.at_most_once(WhenUnknown::hold).timeouts(Timeouts().attempt(5s)); }));
  bench.submit("j", "g");
  bench.submit("k", "g");
  const core::WorkItem hung = bench.next_work();
  bench.wait(6s);
  ASSERT_EQ(told(bench), (std::set<WorkRun>{run_of(hung)})) << "though its answer would still count";
  EXPECT_TRUE(bench.state("j").find_work(hung.activity)->life.unknown);
  bench.engine->write_off(run_of(hung));
  const core::WorkItem other = bench.next_work();
  EXPECT_NE(other.run, hung.run);
  bench.engine->answer(reply(hung));
  bench.engine->answer(reply(other));
  bench.settle();
  EXPECT_EQ(bench.state("j").job.status, JobStatus::completed);
  EXPECT_EQ(bench.state("k").job.status, JobStatus::completed);
  EXPECT_EQ(bench.engine->free_slots(), 100u);
}

}  // namespace
}  // namespace pawl::runtime
