// Signals and an engine that is late: no accepted signal is lost, whatever is served first.
#include "execute/assemble.h"
#include "execute/program.h"
#include "graph/check.h"
#include "runtime/engine_bench.h"
#include "runtime/lane_table.h"

namespace pawl::runtime {
namespace {

using namespace std::chrono_literals;

constexpr const char* app = R"(
app:
  id: late
  version: 1
  graphs:
    - subscribes: late.waits
      activities:
        start: {type: trigger}
        wait: {type: hook, sleep: 300ms, job: {maps: {heard: "{$self.hook.data.word}"}}}
      transitions: {start: [{to: wait}]}
      hooks: {told: [{to: wait, conditions: {match: [{expected: one, actual: "{$self.hook.data.id}"}]}}]}
    - subscribes: late.tells
      activities:
        start_tells: {type: trigger}
        tell: {type: signal, topic: told, signal: {maps: {id: one, word: more}}}
      transitions: {start_tells: [{to: tell}]}
)";

class EngineSignals : public ::testing::TestWithParam<core::Fusion> {
 protected:
  void SetUp() override { begin(); }
  void begin() {
    bench_ = std::make_unique<Bench>(GetParam());
    const graph::Checked checked = graph::check_text(app);
    ASSERT_NE(checked.app, nullptr);
    auto graphs = execute::assemble(checked.app, app);
    ASSERT_TRUE(graphs.ok()) << graphs.error().detail;
    for (Graph& graph : *graphs) ASSERT_TRUE(bench_->graphs.add(std::move(graph)).ok());
    bench_->settle();
  }
  store::Deliver signal(std::uint64_t number) {
    const auto graph = bench_->graphs.newest(GraphName("late/late.waits"));
    const Payload data(R"({"id":"one","word":"go"})");
    const auto keys = execute::GraphProgram::of(*graph)->keys_of(Topic("told"), data);
    key_ = core::MailboxKey{default_namespace(), Topic("told"), keys->at(0)};
    store::Deliver deliver;
    deliver.envelope = {key_, {core::Guid{11, number}, core::Signal{data}}};
    deliver.lane = lane_for(**bench_->store.read_pool(Pool("graphs")), key_);
    return deliver;
  }
  std::size_t kept() {
    const auto run = bench_->store.find_mailbox(key_);
    return run && *run ? (*bench_->store.read_mailbox(**run))->state.entries.size() : 0;
  }
  std::unique_ptr<Bench> bench_;
  core::MailboxKey key_;
};

// If the engine stops longer than the hook sleeps, the signal that was there first resumes the hook or is kept. Checked
// for a stop at every commit.
TEST_P(EngineSignals, a_late_engine_loses_none) {
  int ends = 0;
  for (int stop = 0; stop < 12; ++stop) {
    begin();
    bench_->engine->request(signal(1), 7);
    bench_->settle();
    ASSERT_EQ(kept(), 1u);
    bench_->submit("j", "late/late.waits");
    for (int commits = 0;; ++commits) {
      if (commits == stop) {
        bench_->clock.advance(1s);
        bench_->engine->tick();
      }
      bench_->engine->pump();
      auto group = bench_->engine->take_group();
      if (!group && commits > stop) break;
      if (!group) continue;
      auto result = bench_->store.commit(group->operations);
      bench_->engine->finished(std::move(*group), std::move(result));
    }
    for (int i = 0; i < 20; ++i) bench_->wait(20ms);
    ASSERT_EQ(bench_->events.ended.size(), 1u) << "stopped before commit " << stop;
    const bool heard = bench_->events.ended[0].result.str() == R"({"heard":"go"})";
    EXPECT_EQ(kept(), heard ? 0u : 1u) << "stopped before commit " << stop;
    ends |= heard ? 1 : 2;
  }
  EXPECT_NE(ends & 1, 0) << "no run in which the signal was faster";
}

TEST_P(EngineSignals, a_job_that_is_ended_leaves_its_signal_to_the_next) {
  bench_->submit("j", "late/late.waits");
  bench_->settle();
  bench_->engine->request(signal(1), 7);
  const RunId run = **bench_->store.find_run(default_namespace(), JobId("j"));
  store::Deliver end;
  end.envelope = {run, {core::Guid{12, 1}, core::Interrupt{}}};
  bench_->engine->request(std::move(end), 8);
  bench_->settle();
  EXPECT_EQ(bench_->state("j").job.status, core::JobStatus::interrupted);
  EXPECT_EQ(kept(), 1u);
  bench_->submit("k", "late/late.waits");
  bench_->settle();
  EXPECT_EQ(bench_->state("k").job.result.str(), R"({"heard":"go"})");
  EXPECT_EQ(kept(), 0u);
}

TEST_P(EngineSignals, beyond_the_limit_a_caller_is_told_and_a_job_goes_on_with_a_report) {
  std::vector<store::Operation> many;
  for (std::uint64_t i = 0; i < limits::early_signals_per_mailbox_max; ++i) many.emplace_back(signal(100 + i));
  ASSERT_TRUE(bench_->store.commit(many).ok());
  bench_->events.outcomes.clear();
  bench_->engine->request(signal(1), 7);
  bench_->settle();
  ASSERT_EQ(bench_->events.outcomes.size(), 1u);
  EXPECT_EQ(bench_->events.outcomes[0]->kind, store::OutcomeKind::over_limit);
  EXPECT_TRUE(bench_->events.problems.empty());
  bench_->submit("s", "late/late.tells");
  bench_->settle();
  EXPECT_EQ(bench_->state("s").job.status, core::JobStatus::completed);
  ASSERT_EQ(bench_->events.problems.size(), 1u);
  EXPECT_NE(bench_->events.problems[0].find("early_signals_per_mailbox_max"), std::string::npos)
      << bench_->events.problems[0];
}

INSTANTIATE_TEST_SUITE_P(fusion, EngineSignals, ::testing::Values(core::Fusion::on, core::Fusion::off),
                         [](const auto& p) { return p.param == core::Fusion::on ? "on" : "off"; });

}  // namespace
}  // namespace pawl::runtime
