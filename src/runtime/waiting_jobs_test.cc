// A job that only waits is not in memory, and comes back right for whatever it waits for.
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
  id: wait
  version: 1
  graphs:
    - subscribes: wait.long
      activities:
        start: {type: trigger}
        pause: {type: hook, sleep: 1d, job: {maps: {heard: "{$self.hook.data.word}"}}}
      transitions: {start: [{to: pause}]}
      hooks: {told: [{to: pause, conditions: {match: [{expected: one, actual: "{$self.hook.data.id}"}]}}]}
    - subscribes: wait.briefly
      activities:
        start_briefly: {type: trigger}
        short_pause: {type: hook, sleep: 500ms}
      transitions: {start_briefly: [{to: short_pause}]}
)";

class WaitingJobs : public ::testing::TestWithParam<core::Fusion> {
 protected:
  void SetUp() override {
    const graph::Checked checked = graph::check_text(app);
    ASSERT_NE(checked.app, nullptr);
    auto graphs = execute::assemble(checked.app, app);
    ASSERT_TRUE(graphs.ok()) << graphs.error().detail;
    for (Graph& graph : *graphs) ASSERT_TRUE(bench_.graphs.add(std::move(graph)).ok());
    bench_.settle();
  }
  void start(const char* graph = "wait/wait.long") {
    bench_.submit("j1", graph);
    bench_.settle();
  }
  core::JobStatus status() { return bench_.state("j1").job.status; }
  // How many bundles the job has committed since.
  std::size_t bundles() const { return bench_.events.bundles.size(); }

  Bench bench_{GetParam(), "e1", 1, 0s};
};

TEST_P(WaitingJobs, are_not_in_memory) {
  start();
  EXPECT_EQ(bench_.engine->hot_jobs(), 0u);
  EXPECT_EQ(bench_.engine->idle_bytes(), 0u);
  EXPECT_EQ(status(), core::JobStatus::running);
}

TEST_P(WaitingJobs, come_back_for_their_timer) {
  start();
  bench_.wait(24h - 1s);
  EXPECT_EQ(status(), core::JobStatus::running);
  bench_.wait(1s);
  EXPECT_EQ(status(), core::JobStatus::completed);
  EXPECT_EQ(bench_.state("j1").job.completions, 1u);
  EXPECT_EQ(bench_.engine->hot_jobs(), 0u);
}

TEST_P(WaitingJobs, come_back_a_little_before_their_timer) {
  start();
  bench_.wait(24h - 400ms);
  EXPECT_EQ(bench_.engine->hot_jobs(), 1u);
  const std::size_t before = bundles();
  bench_.wait(400ms - 1us);
  EXPECT_EQ(bundles(), before);
  EXPECT_EQ(status(), core::JobStatus::running);
  bench_.wait(1us);
  EXPECT_EQ(status(), core::JobStatus::completed);
  EXPECT_EQ(bench_.state("j1").job.completions, 1u);
}

TEST_P(WaitingJobs, come_back_for_a_signal_although_their_timer_is_at_hand) {
  start();
  bench_.wait(24h - 400ms);
  bench_.ask("j1", core::Cancel{410, "not needed"});
  EXPECT_EQ(status(), core::JobStatus::interrupted);
  bench_.wait(400ms);
  EXPECT_EQ(bench_.state("j1").job.completions, 1u);
  EXPECT_EQ(bench_.engine->hot_jobs(), 0u);
}

TEST_P(WaitingJobs, come_back_for_a_signal) {
  start();
  const auto graph = bench_.graphs.newest(GraphName("wait/wait.long"));
  const Payload data(R"({"id":"one","word":"go"})");
  const auto keys = execute::GraphProgram::of(*graph)->keys_of(Topic("told"), data);
  store::Deliver deliver;
  const core::MailboxKey key{default_namespace(), Topic("told"), keys->at(0)};
  deliver.envelope = {key, {core::Guid{11, 1}, core::Signal{data}}};
  deliver.lane = lane_for(**bench_.store.read_pool(Pool("graphs")), key);
  bench_.engine->request(std::move(deliver), 1);
  bench_.settle();
  EXPECT_EQ(status(), core::JobStatus::completed);
  EXPECT_EQ(bench_.state("j1").job.data, Payload(R"({"heard":"go"})"));
  bench_.wait(24h);  // its timer is of no use any more
  EXPECT_EQ(bench_.state("j1").job.completions, 1u);
}

// The message that brings it back was committed by this engine: it is entered in one commit, as if the job had stayed.
TEST_P(WaitingJobs, come_back_for_a_cancel_without_an_additional_commit) {
  start();
  const std::size_t before = bundles();
  bench_.ask("j1", core::Cancel{410, "not needed"});
  EXPECT_EQ(status(), core::JobStatus::interrupted);
  if (GetParam() == core::Fusion::on) {
    EXPECT_EQ(bundles(), before + 1);
  }
  EXPECT_EQ(bench_.engine->hot_jobs(), 0u);
}

TEST_P(WaitingJobs, stay_if_the_wait_is_short) {
  start("wait/wait.briefly");
  EXPECT_EQ(bench_.engine->hot_jobs(), 1u);
  bench_.wait(500ms);
  EXPECT_EQ(status(), core::JobStatus::completed);
}

INSTANTIATE_TEST_SUITE_P(Both, WaitingJobs, ::testing::Values(core::Fusion::on, core::Fusion::off));

}  // namespace
}  // namespace pawl::runtime
