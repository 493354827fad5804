// The engine, driven step by step over the memory store: no thread, and a clock that the test moves.
#include "runtime/engine_bench.h"

namespace pawl::runtime {
namespace {

Result<AppText> chain() {
  return GraphBuilder("chain").trigger("t").worker("a", "work").after("t").worker("b", "work").after("a").build();
}

class EngineTest : public ::testing::TestWithParam<core::Fusion> {};

TEST_P(EngineTest, a_chain_ends_with_every_ledger_marked_and_the_semaphore_at_zero) {
  Bench bench(GetParam());
  bench.deploy(chain());
  bench.submit("j1", "chain");
  bench.run([](const core::WorkItem& item) { return reply(item); });
  const auto state = bench.state("j1");
  EXPECT_EQ(state.job.status, core::JobStatus::completed);
  EXPECT_EQ(state.job.semaphore, 0);
  EXPECT_EQ(state.job.completions, 1u);
  ASSERT_EQ(state.activities().size(), 3u);
  EXPECT_EQ(state.activities()[0].ledger.digits(), "001111000000001");
  EXPECT_EQ(state.activities()[1].ledger.digits(), "001111000000001");
  EXPECT_EQ(state.activities()[2].ledger.digits(), "001111100000001");
  EXPECT_EQ(state.activities()[2].at.text(), ",0,0,0");
  ASSERT_EQ(bench.events.ended.size(), 1u);
  EXPECT_TRUE(bench.events.problems.empty());
  EXPECT_EQ(bench.engine->hot_jobs(), 0u);
}

TEST_P(EngineTest, an_uncaught_error_fails_the_job_once_and_drops_what_was_open) {
  Bench bench(GetParam());
  bench.deploy(GraphBuilder("two").trigger("t").worker("a", "work").after("t").worker("b", "work").after("t").build());
  bench.submit("j1", "two");
  bench.run([](const core::WorkItem& item) { return reply(item, core::ReplyStatus::error, 500, "\"boom\""); });
  const auto state = bench.state("j1");
  EXPECT_EQ(state.job.status, core::JobStatus::failed);
  EXPECT_EQ(state.job.semaphore, 0);
  EXPECT_EQ(state.job.completions, 1u);
  EXPECT_TRUE(state.work().empty());
  EXPECT_NE(state.job.reason.find("boom"), std::string::npos);
  EXPECT_EQ(bench.events.ended.size(), 1u);
}

// A lane that is taken twice has a new epoch: that would fence what the same engine decided in between.
TEST_P(EngineTest, a_lane_is_asked_for_again_only_if_it_was_refused) {
  Bench bench(GetParam(), "e1", 1, Duration{0});  // as over a store whose lanes have no lease
  const auto rings_meanwhile = [&] {
    auto group = bench.engine->take_group();
    ASSERT_TRUE(group);
    auto result = bench.store.commit(group->operations);
    bench.engine->ownership_changed();
    bench.engine->tick();
    bench.engine->finished(std::move(*group), std::move(result));
    bench.engine->tick();
  };
  rings_meanwhile();
  EXPECT_TRUE(bench.engine->owns_anything());
  EXPECT_FALSE(bench.engine->take_group()) << "nothing is asked for: it has all of them";

  Recorder events;
  EngineOptions options;
  options.name = "e2";
  Engine second(options, **bench.store.read_pool(Pool("graphs")), bench.store, bench.clock, bench.graphs, events);
  second.tick();
  auto refused = second.take_group();
  ASSERT_TRUE(refused);
  auto result = bench.store.commit(refused->operations);
  second.ownership_changed();
  second.tick();
  second.finished(std::move(*refused), std::move(result));
  second.tick();
  EXPECT_FALSE(second.owns_anything());
  EXPECT_TRUE(second.take_group()) << "the owner may have gone after the refusal";
}

// The decision waits while the store takes no writes: this time counts, and others can see it.
TEST_P(EngineTest, an_end_is_dated_when_it_is_committed) {
  Bench bench(GetParam());
  bench.deploy(GraphBuilder("one").trigger("t").worker("a", "work").after("t").build());
  SubmitRequest request{default_namespace(), JobId("j1"), GraphName("one"), "{}", core::JobSecret(core::Guid{1, 1})};
  request.keep = std::chrono::minutes(1);
  bench.engine->submit(std::move(request), 1);
  bench.engine->answer(reply(bench.next_work()));
  Instant refused_until;
  while (bench.state("j1").job.status != core::JobStatus::completed) {
    bench.engine->pump();
    auto group = bench.engine->take_group();
    ASSERT_TRUE(group);
    bench.engine->finished(std::move(*group), Error{ErrorCode::retry_later, "the disk is full"});
    bench.clock.advance(std::chrono::seconds(1));
    bench.engine->tick();
    refused_until = bench.clock.now();
    group = bench.engine->take_group();
    ASSERT_TRUE(group);
    auto result = bench.store.commit(group->operations);
    bench.engine->finished(std::move(*group), std::move(result));
  }
  bench.settle();
  const core::JobRow job = bench.state("j1").job;
  EXPECT_EQ(job.completions, 1u);
  EXPECT_EQ(job.closed_at, refused_until);
  EXPECT_EQ(job.remove_at, refused_until + std::chrono::minutes(1)) << "it is kept for as long as was asked";
}

TEST_P(EngineTest, a_caught_error_takes_the_branch_of_its_code) {
  Bench bench(GetParam());
  bench.deploy(GraphBuilder("c")
                   .trigger("t")
                   .worker("a", "work")
                   .after("t")
                   .worker("ok", "work")
                   .after("a")
                   .worker("refund", "work")
                   .after("a", Condition::code(402))
                   .build());
  bench.submit("j1", "c");
  bench.run([](const core::WorkItem& item) {
    if (item.activity.raw() == 1) return reply(item, core::ReplyStatus::error, 402);
    return reply(item);
  });
  const auto state = bench.state("j1");
  EXPECT_EQ(state.job.status, core::JobStatus::completed);
  ASSERT_EQ(state.activities().size(), 3u);
  EXPECT_EQ(state.activities()[2].node, 3u);
}

TEST_P(EngineTest, each_pending_reply_opens_a_plane) {
  Bench bench(GetParam());
  bench.deploy(chain());
  bench.submit("j1", "chain");
  bool sent = false;
  bench.run([&](const core::WorkItem& item) {
    if (item.activity.raw() == 1 && !sent) {
      sent = true;
      for (std::uint64_t i = 0; i < 3; ++i) {
        auto pending = reply(item, core::ReplyStatus::pending, 202);
        pending.pending_index = i;
        bench.engine->answer(pending);
      }
    }
    return reply(item);
  });
  const auto state = bench.state("j1");
  EXPECT_EQ(state.job.status, core::JobStatus::completed);
  ASSERT_EQ(state.activities().size(), 6u);
  EXPECT_EQ(state.activities()[1].ledger.entries(), 4u);
  EXPECT_NE(state.find(2, *ledger::Dimensions::parse(",0,3,0")), nullptr);
}

TEST_P(EngineTest, a_second_engine_takes_over_when_the_lease_ran_out) {
  Bench bench(GetParam());
  bench.deploy(chain());
  bench.submit("j1", "chain");
  // The first engine crashes while workers have work.
  for (int i = 0; i < 20; ++i) {
    bench.engine->pump();
    if (auto group = bench.engine->take_group()) {
      auto result = bench.store.commit(group->operations);
      bench.engine->finished(std::move(*group), std::move(result));
    }
  }
  ASSERT_EQ(bench.events.work.size(), 1u);
  bench.events.work.clear();
  bench.clock.advance(std::chrono::seconds(11));
  bench.boot(GetParam(), "e2", 2);
  bench.run([](const core::WorkItem& item) { return reply(item); });
  const auto state = bench.state("j1");
  EXPECT_EQ(state.job.status, core::JobStatus::completed);
  EXPECT_EQ(state.job.completions, 1u);
}

// Found by the storm: a job that was loaded before its worker was known stayed in memory, and the search for waiting
// work skipped it.
TEST_P(EngineTest, work_of_a_job_in_memory_is_run_when_its_worker_comes_later) {
  Bench bench(GetParam());
  bench.deploy(GraphBuilder("late").trigger("t").worker("a", "comes.later").after("t").build());
  bench.submit("j1", "late");
  bench.run([](const core::WorkItem& item) { return reply(item); });
  ASSERT_EQ(bench.engine->hot_jobs(), 1u);
  ASSERT_EQ(bench.state("j1").job.status, core::JobStatus::running);
  bench.engine->serve(Topic("comes.later"));
  bench.run([](const core::WorkItem& item) { return reply(item); });
  EXPECT_EQ(bench.state("j1").job.status, core::JobStatus::completed);
}

// Found by the storm: a reply loaded its job, and the item that it answered was begun again.
TEST_P(EngineTest, an_answer_for_a_job_that_is_not_in_memory_does_not_begin_its_work_again) {
  Bench bench(GetParam());
  bench.deploy(GraphBuilder("late").trigger("t").worker("a", "comes.later").after("t").build());
  bench.submit("j1", "late");
  bench.run([](const core::WorkItem& item) { return reply(item); });
  bench.clock.advance(std::chrono::seconds(11));
  bench.boot(GetParam(), "e2", 2);
  bench.engine->serve(Topic("comes.later"));
  int handed_out = 0;
  bench.run([&](const core::WorkItem& item) {
    ++handed_out;
    return reply(item);
  });
  EXPECT_EQ(bench.state("j1").job.status, core::JobStatus::completed);
  EXPECT_EQ(handed_out, 1);
}

TEST_P(EngineTest, a_taken_job_id_is_answered_with_the_run_that_has_it) {
  Bench bench(GetParam());
  bench.deploy(chain());
  bench.submit("j1", "chain");
  bench.submit("j1", "chain");
  bench.run([](const core::WorkItem& item) { return reply(item); });
  ASSERT_EQ(bench.events.answers.size(), 2u);
  EXPECT_TRUE(bench.events.answers[0]->created);
  EXPECT_FALSE(bench.events.answers[1]->created);
  EXPECT_EQ(bench.events.answers[0]->run, bench.events.answers[1]->run);
}

// Commits until a worker has something to do.
void run_to_first_work(Bench& bench) {
  while (bench.events.work.empty()) {
    bench.engine->pump();
    auto group = bench.engine->take_group();
    ASSERT_TRUE(group.has_value());
    auto result = bench.store.commit(group->operations);
    bench.engine->finished(std::move(*group), std::move(result));
  }
}

// Sends a renewal whose reply arrives only after the lease has expired here, and calls `meanwhile` in between.
void renew_late(Bench& bench, const std::function<void()>& meanwhile) {
  bench.clock.advance(std::chrono::milliseconds(3400));
  bench.engine->tick();
  bench.engine->pump();
  auto group = bench.engine->take_group();
  ASSERT_TRUE(group.has_value());
  auto result = bench.store.commit(group->operations);
  bench.clock.advance(std::chrono::milliseconds(6000));
  meanwhile();
  bench.engine->finished(std::move(*group), std::move(result));
}

TEST_P(EngineTest, an_answer_that_was_dropped_before_a_late_renewal_is_asked_for_again) {
  Bench bench(GetParam());
  bench.deploy(chain());
  bench.submit("j1", "chain");
  run_to_first_work(bench);
  const core::WorkItem item = bench.events.work.front();
  bench.events.work.clear();
  renew_late(bench, [&] { bench.engine->answer(reply(item)); });
  bench.run([](const core::WorkItem& again) { return reply(again); });
  EXPECT_EQ(bench.state("j1").job.status, core::JobStatus::completed);
}

TEST_P(EngineTest, a_run_that_lost_a_pending_reply_does_not_conclude_its_activity) {
  Bench bench(GetParam());
  bench.deploy(chain());
  bench.submit("j1", "chain");
  run_to_first_work(bench);
  const core::WorkItem item = bench.events.work.front();
  bench.events.work.clear();
  const auto pending = [](const core::WorkItem& of) { return reply(of, core::ReplyStatus::pending, 202); };
  renew_late(bench, [&] { bench.engine->answer(pending(item)); });
  bench.engine->answer(reply(item));
  bench.run([&](const core::WorkItem& again) {
    if (again.activity == item.activity) bench.engine->answer(pending(again));
    return reply(again);
  });
  EXPECT_EQ(bench.state("j1").job.status, core::JobStatus::completed);
  EXPECT_EQ(bench.state("j1").activities()[1].ledger.entries(), 2u);
}

INSTANTIATE_TEST_SUITE_P(fusion, EngineTest, ::testing::Values(core::Fusion::on, core::Fusion::off),
                         [](const auto& p) { return p.param == core::Fusion::on ? "on" : "off"; });

TEST(EngineFusionTest, a_fused_worker_activity_is_one_commit_and_at_most_seven_rows) {
  Bench bench(core::Fusion::on);
  bench.deploy(chain());
  bench.settle();  // it owns the lanes
  bench.submit("j1", "chain");
  bench.run([](const core::WorkItem& item) { return reply(item); });
  ASSERT_EQ(bench.events.bundles.size(), 3u);  // start, a, b
  EXPECT_LE(bench.events.bundles[1].writes.size() + 1, 7u);
}

}  // namespace
}  // namespace pawl::runtime
