// Heartbeats: an attempt that sends them continues; one that sends none is repeated, and the next attempt gets the
// stored progress.
#include <atomic>

#include "life_test.h"

namespace pawl {
namespace {

using namespace testing;

class HeartbeatTest : public LifeTest {};

TEST_P(HeartbeatTest, a_run_that_beats_outlives_its_heartbeat_timeout) {
  std::atomic<int> runs{0};
  runtime =
      start_with(options(), step_graph([](auto& act) { act.timeouts(Timeouts().heartbeat(1s)); }), [&](Work& work) {
        ++runs;
        const auto end = std::chrono::steady_clock::now() + 2500ms;
        while (std::chrono::steady_clock::now() < end && !work.cancelled()) {
          work.heartbeat();
          std::this_thread::sleep_for(10ms);
        }
        return work.cancelled() ? Reply::fatal("\"cancelled\"") : Reply::success("alive");
      });
  EXPECT_EQ(end_of(*runtime, submit_step(*runtime)).result.str(), "alive");
  EXPECT_EQ(runs, 1);
}

TEST_P(HeartbeatTest, a_silent_run_is_tried_again_and_the_next_one_reads_how_far_it_had_come) {
  runtime = start_with(options(), step_graph([](auto& act) {
                         act.timeouts(Timeouts().heartbeat(50ms)).retry(Retry().attempts(2).first_delay(1ms));
                       }),
                       [&](Work& work) {
                         if (work.attempt() == 2) return Reply::success("from " + work.progress().str());
                         EXPECT_TRUE(work.progress().empty());
                         work.heartbeat(Payload("item 1"));
                         work.heartbeat(Payload("item 7"));
                         while (!work.cancelled()) std::this_thread::sleep_for(1ms);
                         return Reply::success("late");
                       });
  EXPECT_EQ(end_of(*runtime, submit_step(*runtime)).result.str(), "from item 7");
}

TEST_P(HeartbeatTest, progress_is_seen_while_the_worker_runs_and_a_bare_beat_keeps_it) {
  Gate gate;
  runtime = start_with(options(), step_graph(), [&](Work& work) {
    work.heartbeat(Payload("half"));
    work.heartbeat();
    gate.pass();
    return Reply::success();
  });
  const RunId run = submit_step(*runtime);
  EXPECT_TRUE(comes_true([&] {
    const auto work = act_of(*runtime, run).work;
    return work && work->progress.str() == "half";
  }));
  EXPECT_EQ(act_of(*runtime, run).effect, Effect::started);
  gate.open();
  EXPECT_EQ(end_of(*runtime, run).status, JobStatus::completed);
}

TEST_P(HeartbeatTest, a_worker_that_beats_in_a_loop_floods_nobody) {
  constexpr int beats = 200'000;
  runtime = start_with(options(), step_graph(), [&](Work& work) {
    for (int i = 1; i <= beats; ++i) work.heartbeat(Payload(std::to_string(i)));
    return Reply::success();
  });
  EXPECT_EQ(end_of(*runtime, submit_step(*runtime)).status, JobStatus::completed);
  if (GetParam().place.name == "sqlite") {
    EXPECT_LT(runtime->stats().operations, beats / 10u);
  }
}

TEST_P(HeartbeatTest, progress_over_the_limit_becomes_error_413) {
  runtime = start_with(options(), step_graph(), [&](Work& work) {
    work.heartbeat(Payload(std::string((4u << 20) + 1, 'x')));
    return Reply::success();
  });
  const JobView end = end_of(*runtime, submit_step(*runtime));
  EXPECT_EQ(end.status, JobStatus::failed);
  EXPECT_NE(end.reason.find("code 413"), std::string::npos) << end.reason;
}

INSTANTIATE_TEST_SUITE_P(store, HeartbeatTest, every_setting, setting_name);

}  // namespace
}  // namespace pawl
