// What other processes commit, and how little an engine reads to find it: the cost depends on what changed, not on what
// is open.
#include "execute/test_graph.h"
#include "runtime/engine_bench.h"
#include "store/fault/store.h"

namespace pawl::runtime {
namespace {

constexpr std::size_t open_jobs = 1000;

// An engine that holds its lanes without renewal, as over SQLite. Its reads are counted.
struct Changes : ::testing::Test {
  Changes() : memory(clock), store(memory, {}) {
    commit(store::OpenPool{Pool("graphs"), 1});
    EngineOptions options;
    options.name = "owner";
    options.hot_jobs_max = 10;
    engine = std::make_unique<Engine>(options, **memory.read_pool(Pool("graphs")), store, clock, graphs, events);
    engine->add_slots(10'000);
    engine->serve(Topic("work"));
    engine->tick();
    deploy("idle", "nobody");
    deploy("one", "work");
    turns();
  }
  void deploy(const std::string& name, const std::string& topic) {
    auto graph = execute::graph_of(GraphBuilder(name).trigger("t").worker("a", topic).after("t"));
    ASSERT_TRUE(graphs.add(std::move(*graph)).ok());
  }
  store::Outcome commit(const store::Operation& operation) {
    auto outcomes = memory.commit({&operation, 1});
    EXPECT_TRUE(outcomes.ok());
    return std::move(outcomes->front());
  }
  void turn() {
    engine->pump();
    if (auto group = engine->take_group()) {
      auto result = store.commit(group->operations);
      engine->finished(std::move(*group), std::move(result));
    }
  }
  // Until nothing is left to do.
  std::size_t turns() {
    std::size_t count = 0;
    for (;; ++count) {
      turn();
      const auto wake = engine->next_wake();
      const bool more = engine->drained() ? wake && *wake <= clock.monotonic() : events.work.empty();
      if (!more || count > 10'000) return count;
    }
  }
  void submit(const std::string& id, const std::string& graph) {
    engine->submit(SubmitRequest{default_namespace(), JobId(id), GraphName(graph), "{}",
                                 core::JobSecret(core::Guid{1, ++submits})},
                   1);
  }
  void fill(std::size_t jobs, const std::string& graph) {
    for (std::size_t i = 0; i < jobs; ++i) submit(graph + std::to_string(i), graph);
    turns();
  }
  store::Submit guest_submit(const std::string& id, const std::string& graph) {
    return {default_namespace(), JobId(id), core::LaneId(1), ref_of(*graphs.newest(GraphName(graph))), "{}",
            clock.now()};
  }
  // As another process: it commits, and sends a notification of the change.
  store::Outcome by_guest(const store::Operation& operation) {
    auto outcome = commit(operation);
    engine->changed(store::changed_by({&operation, 1}, {&outcome, 1}));
    return outcome;
  }

  ManualClock clock;
  GraphCatalog graphs;
  Recorder events;
  store::memory::Store memory;
  store::fault::Store store;
  std::unique_ptr<Engine> engine;
  std::uint64_t submits = 0;
};

TEST_F(Changes, one_submit_of_another_process_costs_a_few_reads_beside_many_open_jobs) {
  fill(open_jobs, "idle");
  const std::uint64_t before = store.reads();
  const RunId run = by_guest(guest_submit("g", "one")).run();
  turns();
  ASSERT_EQ(events.work.size(), 1u);
  EXPECT_EQ(events.work.front().run, run);
  EXPECT_LE(store.reads() - before, 5u);
}

TEST_F(Changes, a_delayed_submit_of_another_process_begins_at_its_time) {
  store::Submit submit = guest_submit("g", "one");
  submit.start_at = clock.now() + std::chrono::seconds(5);
  by_guest(submit);
  turns();
  EXPECT_TRUE(events.work.empty());
  EXPECT_EQ(engine->next_wake(), clock.monotonic() + std::chrono::seconds(5) - limits::ahead_at_least);
  clock.advance(std::chrono::seconds(5) - limits::ahead_at_least);
  engine->tick();
  turns();
  EXPECT_EQ(engine->hot_jobs(), 1u) << "it was read";
  EXPECT_TRUE(events.work.empty());
  EXPECT_EQ(engine->next_wake(), clock.monotonic() + limits::ahead_at_least);
  clock.advance(limits::ahead_at_least);
  engine->tick();
  turns();
  EXPECT_EQ(events.work.size(), 1u);
}

TEST_F(Changes, a_look_at_everything_is_done_a_little_at_each_turn) {
  fill(open_jobs, "idle");
  const std::uint64_t before = store.reads();
  commit(guest_submit("g", "one"));  // its notification was lost
  engine->inbox_changed();
  turn();
  EXPECT_TRUE(engine->next_wake() && *engine->next_wake() <= clock.monotonic()) << "there is more to look at";
  submit("mine", "one");
  turn();
  EXPECT_EQ(events.answers.size(), open_jobs + 1) << "who asks meanwhile is heard";
  turns();
  EXPECT_EQ(events.work.size(), 2u);
  EXPECT_LE(store.reads() - before, open_jobs / limits::looks_per_turn + 20) << "idle jobs stay where they are";
}

TEST_F(Changes, a_topic_that_is_served_later_finds_all_its_items_and_reads_no_other_job) {
  deploy("later", "later");
  fill(open_jobs, "idle");
  fill(300, "later");
  const std::uint64_t before = store.reads();
  engine->serve(Topic("later"));
  for (int i = 0; i < 100; ++i) turn();
  EXPECT_EQ(events.work.size(), 300u);
  EXPECT_LE(store.reads() - before, 300u + 2 * open_jobs / limits::looks_per_turn + 20);
}

TEST_F(Changes, a_topic_that_another_process_resumes_goes_on) {
  ASSERT_TRUE(by_guest(store::PauseTopic{Topic("work"), true}).done());
  submit("mine", "one");
  turns();
  EXPECT_TRUE(events.work.empty());
  by_guest(store::PauseTopic{Topic("work"), false});
  for (int i = 0; i < 10; ++i) turn();
  EXPECT_EQ(events.work.size(), 1u);
}

TEST_F(Changes, a_job_whose_graph_comes_later_goes_on_then) {
  auto graph = execute::graph_of(GraphBuilder("new").trigger("t").worker("a", "work").after("t"));
  store::Submit submit = guest_submit("g", "one");
  submit.graph = ref_of(*graph);
  by_guest(submit);
  turns();
  EXPECT_TRUE(events.work.empty());
  ASSERT_EQ(events.problems.size(), 1u);
  engine->graphs_changed();
  turns();
  EXPECT_EQ(events.problems.size(), 1u) << "it is said once";
  ASSERT_TRUE(graphs.add(std::move(*graph)).ok());
  engine->graphs_changed();
  turns();
  EXPECT_EQ(events.work.size(), 1u);
}

}  // namespace
}  // namespace pawl::runtime
