// A process is killed with kill -9 inside an effect. The process itself cannot know whether the effect happened; the
// journal outside shows it. Each policy shows how often it lets the effect happen.
#include <algorithm>
#include <stdexcept>

#include "life_node.h"
#include "storm/node_process.h"

namespace pawl {
namespace {

using namespace testing;

class EffectsTest : public ::testing::Test {
 protected:
  // A first process that dies inside the effect of job "e".
  void die_inside(const std::string& policy) {
    storm::NodeProcess node({.program = LIFE_NODE, .dir = dir.path(), .slot = "e", .flags = {"effect", policy}});
    ASSERT_TRUE(node.wait_for("acted", 20s)) << read_file(dir / "problems.txt");
    node.kill();
  }
  // A second runtime, in this process, that acts at once and continues.
  void live_again(const std::string& policy, Probe probe = nullptr) {
    runtime = open_with({.store = dir / "store.db"}, effect_graph(policy), [this](Work& work) {
      write_line(dir / "journal", "acted " + work.key());
      return Reply::success("acted");
    });
    ASSERT_NE(runtime, nullptr);
    runtime->on_problem([this](const std::string& text) { problems.add(text); }).keep();
    runtime
        ->observe([this](const Event& event) {
          if (event.kind == Event::Kind::activity_unknown) doubts.add(event.activity.raw() + " " + event.address);
        })
        .keep();
    if (probe) {
      ASSERT_TRUE(runtime->probe("work", std::move(probe)).ok());
    }
    ASSERT_TRUE(runtime->launch().ok());
    const auto found = runtime->find("e");
    ASSERT_TRUE(found.ok() && found->has_value());
    run = (*found)->run();
  }
  void expect_effects(std::size_t count) {
    const auto lines = lines_of(dir / "journal");
    EXPECT_EQ(lines.size(), count);
    for (const std::string& line : lines) EXPECT_EQ(line, lines.front()) << "the idempotency key changed";
  }
  TempDir dir;
  std::unique_ptr<Runtime> runtime;
  Notes problems, doubts;
  RunId run{0};
};

TEST_F(EffectsTest, at_least_once_acts_again_with_the_same_key) {
  ASSERT_NO_FATAL_FAILURE(die_inside("at_least_once"));
  ASSERT_NO_FATAL_FAILURE(live_again("at_least_once"));
  EXPECT_EQ(end_of(*runtime, run).status, JobStatus::completed);
  expect_effects(2);
  EXPECT_EQ(doubts.size(), 0u);
}

TEST_F(EffectsTest, at_most_once_holds_what_is_unknown_until_a_person_says_it_is_done) {
  ASSERT_NO_FATAL_FAILURE(die_inside("hold"));
  ASSERT_NO_FATAL_FAILURE(live_again("hold"));
  ASSERT_TRUE(has_effect(*runtime, run, Effect::unknown));
  EXPECT_FALSE(runtime->job(run).wait(100ms).ok());
  expect_effects(1);
  EXPECT_EQ(doubts.all(), (std::vector<std::string>{"act ,0,0"}));
  EXPECT_TRUE(fails_with(runtime->job(run).settle({"act", ",0,9"}, Finding::done(Payload("x"))), ErrorCode::not_found,
                         {"no activity act at ,0,9", "act at ,0,0"}));
  EXPECT_TRUE(
      fails_with(runtime->job(run).settle({"t", ",0"}, Finding::done(Payload("x"))), ErrorCode::invalid, {"is none"}));
  ASSERT_TRUE(runtime->job(run).settle({"act", ",0,0"}, Finding::done(Payload("seen on the account"))).ok());
  const JobView end = end_of(*runtime, run);
  EXPECT_EQ(end.status, JobStatus::completed);
  EXPECT_EQ(end.result.str(), "seen on the account");
  expect_effects(1);
  EXPECT_EQ(act_of(*runtime, run).effect, Effect::done);
}

TEST_F(EffectsTest, a_person_may_find_that_it_failed) {
  ASSERT_NO_FATAL_FAILURE(die_inside("hold"));
  ASSERT_NO_FATAL_FAILURE(live_again("hold"));
  ASSERT_TRUE(has_effect(*runtime, run, Effect::unknown));
  ASSERT_TRUE(runtime->job(run).settle({"act", ",0,0"}, Finding::failed("\"refused\"", 402)).ok());
  const JobView end = end_of(*runtime, run);
  EXPECT_EQ(end.status, JobStatus::failed);
  EXPECT_EQ(end.reason, "activity act failed with code 402: \"refused\"");
  expect_effects(1);
}

TEST_F(EffectsTest, a_person_may_find_that_it_did_not_happen_and_then_it_runs_with_the_same_key) {
  ASSERT_NO_FATAL_FAILURE(die_inside("hold"));
  ASSERT_NO_FATAL_FAILURE(live_again("hold"));
  ASSERT_TRUE(has_effect(*runtime, run, Effect::unknown));
  ASSERT_TRUE(runtime->job(run).settle({"act", ",0,0"}, Finding::not_done()).ok());
  EXPECT_EQ(end_of(*runtime, run).result.str(), "acted");
  expect_effects(2);
}

TEST_F(EffectsTest, what_is_unknown_stays_so_over_a_restart) {
  ASSERT_NO_FATAL_FAILURE(die_inside("hold"));
  ASSERT_NO_FATAL_FAILURE(live_again("hold"));
  ASSERT_TRUE(has_effect(*runtime, run, Effect::unknown));
  runtime.reset();
  ASSERT_NO_FATAL_FAILURE(live_again("hold"));
  EXPECT_FALSE(runtime->job(run).wait(200ms).ok());
  EXPECT_EQ(act_of(*runtime, run).effect, Effect::unknown);
  expect_effects(1);
}

TEST_F(EffectsTest, at_most_once_with_retry_acts_again_with_the_same_key) {
  ASSERT_NO_FATAL_FAILURE(die_inside("retry"));
  ASSERT_NO_FATAL_FAILURE(live_again("retry"));
  EXPECT_EQ(end_of(*runtime, run).status, JobStatus::completed);
  expect_effects(2);
}

TEST_F(EffectsTest, a_probe_that_finds_it_done_ends_the_doubt) {
  ASSERT_NO_FATAL_FAILURE(die_inside("ask_probe"));
  ASSERT_NO_FATAL_FAILURE(live_again("ask_probe", [&](const Work& work) {
    const auto lines = lines_of(dir / "journal");
    const bool acted = std::find(lines.begin(), lines.end(), "acted " + work.key()) != lines.end();
    return acted ? Finding::done(Payload("found: " + work.input().str())) : Finding::not_done();
  }));
  EXPECT_EQ(end_of(*runtime, run).result.str(), "found: x");
  expect_effects(1);
}

TEST_F(EffectsTest, a_probe_that_finds_it_not_done_has_it_run) {
  ASSERT_NO_FATAL_FAILURE(die_inside("ask_probe"));
  ASSERT_NO_FATAL_FAILURE(live_again("ask_probe", [](const Work&) { return Finding::not_done(); }));
  EXPECT_EQ(end_of(*runtime, run).result.str(), "acted");
  expect_effects(2);
}

TEST_F(EffectsTest, a_probe_that_finds_it_failed_fails_the_job) {
  ASSERT_NO_FATAL_FAILURE(die_inside("ask_probe"));
  ASSERT_NO_FATAL_FAILURE(live_again("ask_probe", [](const Work&) { return Finding::failed("\"lost\"", 410); }));
  EXPECT_EQ(end_of(*runtime, run).reason, "activity act failed with code 410: \"lost\"");
  expect_effects(1);
}

TEST_F(EffectsTest, a_probe_that_cannot_tell_leaves_it_to_a_person) {
  ASSERT_NO_FATAL_FAILURE(die_inside("ask_probe"));
  Notes asked;
  ASSERT_NO_FATAL_FAILURE(live_again("ask_probe", [&](const Work&) {
    asked.add("asked");
    return Finding::cannot_tell();
  }));
  ASSERT_TRUE(comes_true([&] { return asked.size() == 1; }));
  EXPECT_FALSE(runtime->job(run).wait(100ms).ok());
  EXPECT_EQ(act_of(*runtime, run).effect, Effect::unknown);
  EXPECT_EQ(asked.size(), 1u);
  ASSERT_TRUE(runtime->job(run).settle({"act", ",0,0"}, Finding::done(Payload("by hand"))).ok());
  EXPECT_EQ(end_of(*runtime, run).result.str(), "by hand");
  expect_effects(1);
}

TEST_F(EffectsTest, a_probe_that_throws_is_reported_and_leaves_it_to_a_person) {
  ASSERT_NO_FATAL_FAILURE(die_inside("ask_probe"));
  ASSERT_NO_FATAL_FAILURE(
      live_again("ask_probe", [](const Work&) -> Finding { throw std::runtime_error("bank is closed"); }));
  ASSERT_TRUE(comes_true([&] {
    for (const std::string& text : problems.all())
      if (text.find("the probe of topic work") != std::string::npos && text.find("bank is closed") != std::string::npos)
        return true;
    return false;
  }));
  EXPECT_EQ(act_of(*runtime, run).effect, Effect::unknown);
  expect_effects(1);
}

TEST_F(EffectsTest, at_most_once_work_that_answers_is_done_once_and_never_in_doubt) {
  ASSERT_NO_FATAL_FAILURE(die_inside("hold"));  // the effect of job e stays unknown beside the others
  ASSERT_NO_FATAL_FAILURE(live_again("hold"));
  for (int i = 0; i < 20; ++i)
    EXPECT_EQ(end_of(*runtime, submit_step(*runtime, "j" + std::to_string(i))).status, JobStatus::completed);
  EXPECT_EQ(lines_of(dir / "journal").size(), 21u);
  EXPECT_EQ(doubts.size(), 1u);
}

// The time of the first job's attempt is over during its effect: the effect is unknown, and the attempt is cancelled.
// The only worker thread takes the second job after it, so the first reply has been processed when the second job has
// ended.
RunId after_its_time(Runtime& runtime) {
  const RunId late = submit_step(runtime, "late");
  EXPECT_TRUE(comes_true([&] { return act_of(runtime, late).effect > Effect::intended; }));
  EXPECT_EQ(end_of(runtime, submit_step(runtime, "next", "at once")).status, JobStatus::completed);
  return late;
}

std::unique_ptr<Runtime> open_to_leave_with(const Reply& reply) {
  const AppText graph =
      step_graph([](GraphBuilder& act) { act.at_most_once(WhenUnknown::hold).timeouts(Timeouts().attempt(50ms)); });
  return start_with({.store = ":memory:", .worker_threads = 1}, graph, [reply](Work& work) {
    if (work.input().str() == "at once") return Reply::success("at once");
    while (!work.cancelled()) std::this_thread::sleep_for(1ms);
    return reply;
  });
}

TEST(LateAnswerTest, that_a_run_left_when_it_was_told_to_does_not_say_that_its_effect_failed) {
  for (const Reply& reply : {Reply::error("\"no answer\""), Reply::fatal("\"stopped\"")}) {
    const auto runtime = open_to_leave_with(reply);
    ASSERT_NE(runtime, nullptr);
    EXPECT_EQ(act_of(*runtime, after_its_time(*runtime)).effect, Effect::unknown);
  }
}

TEST(LateAnswerTest, a_success_that_comes_late_settles_the_doubt) {
  const auto runtime = open_to_leave_with(Reply::success("done after all"));
  ASSERT_NE(runtime, nullptr);
  EXPECT_EQ(end_of(*runtime, after_its_time(*runtime)).result.str(), "done after all");
}

}  // namespace
}  // namespace pawl
