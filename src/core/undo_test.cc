// A failed job undoes what it did, with all steps in one commit and with one commit per step, and with a crash after
// any commit.
#include "core/test_graph.h"
#include "core/test_job.h"

namespace pawl::core {
namespace {

// a, then b, then c; a and b can be undone, and d runs beside them.
Graph saga() {
  return *TestGraph("saga")
              .trigger("t")
              .worker("a", "work")
              .after("t")
              .worker("b", "work")
              .after("a")
              .worker("c", "work")
              .after("b")
              .worker("d", "work")
              .after("t")
              .worker("no_a", "undo")
              .undoes("a")
              .worker("no_b", "undo")
              .undoes("b")
              .build();
}

class Undo : public testing::TestWithParam<Fusion> {};

std::string name_of(const TestJob& job, const Graph& graph, ActivitySeq seq) {
  return graph.nodes()[job.state.find(seq)->node].name.raw();
}

// Serves what there is, with a crash after every so many commits (0: none), and finds the oldest work that waits. Null:
// only d waits, or what is to be left.
const WorkItem* next_work(TestJob& job, const Graph& graph, int crash_every, const std::string& left = "") {
  int steps = 0;
  while (job.step())
    if (crash_every != 0 && ++steps % crash_every == 0) job.crash();
  const WorkItem* next = nullptr;
  for (const auto& [seq, item] : job.state.work()) {
    const std::string name = name_of(job, graph, seq);
    if (name != "d" && name != left && (next == nullptr || item.activity.raw() < next->activity.raw())) next = &item;
  }
  return is_stopped(job.state.job.status) ? nullptr : next;
}

// The names of the activities that ran, in order, and the end; after every commit the engine may crash.
struct Outcome {
  std::vector<std::string> ran;
  JobStatus status = JobStatus::running;
};
Outcome play(Fusion fusion, int crash_every, std::int32_t undo_errors) {
  const Graph graph = saga();
  TestJob job(graph, fusion);
  Outcome out;
  for (int turns = 0; turns < 500; ++turns) {
    const WorkItem* next = next_work(job, graph, crash_every);
    if (next == nullptr) break;
    const std::string name = name_of(job, graph, next->activity);
    out.ran.push_back(name);
    const bool fails = name == "c" || (name == "no_b" && undo_errors-- > 0);
    job.deliver_local(TestJob::answer(job.claim(next->activity.raw()),
                                      fails ? ReplyStatus::error : ReplyStatus::success, fails ? 451 : 200));
  }
  out.status = job.state.job.status;
  EXPECT_TRUE(job.inbox.empty() || is_stopped(out.status));
  if (is_closed(out.status)) {
    EXPECT_EQ(job.state.job.semaphore, 0);
    EXPECT_EQ(job.state.job.code, 451);
    EXPECT_EQ(job.state.job.completions, 1u);
    EXPECT_NE(job.state.job.reason.find("activity c failed with code 451"), std::string::npos) << job.state.job.reason;
    EXPECT_EQ(job.state.find(ActivitySeq(2))->status, ActivityStatus::skipped) << "d ran beside them";
    EXPECT_EQ(job.state.find(ActivitySeq(2))->code, code_called_off);
  }
  return out;
}

TEST_P(Undo, runs_newest_first_whenever_the_engine_dies) {
  for (const int crash_every : {0, 2, 3, 5}) {  // 1: it crashes before every message is served, and the job is parked
    const Outcome out = play(GetParam(), crash_every, 0);
    EXPECT_EQ(out.ran, (std::vector<std::string>{"a", "b", "c", "no_b", "no_a"})) << crash_every;
    EXPECT_EQ(out.status, JobStatus::failed) << crash_every;
  }
}

TEST_P(Undo, that_fails_parks_the_job) {
  const Outcome out = play(GetParam(), 0, 1);
  EXPECT_EQ(out.ran, (std::vector<std::string>{"a", "b", "c", "no_b"}));
  EXPECT_EQ(out.status, JobStatus::parked);
}

// Answers what waits, except d and except the activities that `stops_at` names.
void play_on(TestJob& job, const Graph& graph, const std::string& stops_at, std::vector<std::string>& ran,
             int crash_every = 0) {
  for (int turns = 0; turns < 500; ++turns) {
    const WorkItem* next = next_work(job, graph, crash_every, stops_at);
    if (next == nullptr) return;
    ran.push_back(name_of(job, graph, next->activity));
    job.deliver_local(TestJob::answer(job.claim(next->activity.raw()), ReplyStatus::success, 200));
  }
}

TEST_P(Undo, of_a_cancelled_job_runs_and_it_ends_as_interrupted) {
  for (const bool stopped : {false, true})
    for (const int crash_every : {0, 2, 3}) {
      const Graph graph = saga();
      TestJob job(graph, GetParam());
      std::vector<std::string> ran;
      play_on(job, graph, "c", ran, crash_every);
      if (stopped) {
        job.ask(Pause{"a moment"});
        job.run();
        ASSERT_EQ(job.state.job.status, JobStatus::paused);
      }
      job.ask(Cancel{410, "the customer left"});
      play_on(job, graph, "no_b", ran, crash_every);
      EXPECT_EQ(job.state.job.status, JobStatus::running) << "it undoes";
      EXPECT_EQ(job.state.job.error_code(), 410);
      job.ask(Cancel{410, "once more"});  // changes nothing
      play_on(job, graph, "", ran, crash_every);
      EXPECT_EQ(ran, (std::vector<std::string>{"a", "b", "no_b", "no_a"})) << crash_every;
      EXPECT_EQ(job.state.job.status, JobStatus::interrupted);
      EXPECT_EQ(job.state.job.code, 410);
      EXPECT_EQ(job.state.job.reason, "the customer left");
      EXPECT_EQ(job.state.job.semaphore, 0);
      EXPECT_EQ(job.state.job.completions, 1u);
      EXPECT_TRUE(job.inbox.empty());
    }
}

TEST_P(Undo, of_a_cancelled_job_that_did_nothing_is_its_end) {
  const Graph graph = saga();
  TestJob job(graph, GetParam());
  job.run();
  job.ask(Cancel{410, ""});
  job.run();
  EXPECT_EQ(job.state.job.status, JobStatus::interrupted);
  EXPECT_EQ(job.state.job.reason, "cancelled");
  EXPECT_EQ(job.state.job.completions, 1u);
}

INSTANTIATE_TEST_SUITE_P(Fusion, Undo, testing::Values(Fusion::on, Fusion::off),
                         [](const auto& one) { return one.param == Fusion::on ? "fused" : "alone"; });

}  // namespace
}  // namespace pawl::core
