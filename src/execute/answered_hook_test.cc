// A person's answer in the place of a signal: what it means to a job that stops meanwhile, and to the hook's timer.
#include "core/test_job.h"
#include "execute/test_support.h"

namespace pawl::execute {
namespace {

using core::ActivitySeq;
using core::ActivityStatus;
using core::GiveAnswer;
using core::JobStatus;
using core::TestJob;

const char* const approval = R"(activities:
  start: {type: trigger}
  ask: {type: hook, timeout: 60, job: {maps: {said: "{$self.hook.data.word}"}}}
  late: {type: hook, job: {maps: {late: true}}}
transitions: {start: [{to: ask}], ask: [{to: late, conditions: {code: 596}}]}
hooks: {told: [{to: ask, conditions: {match: [{expected: "{$job.metadata.jid}", actual: "{$hook.data.to}"}]}}]}
)";

class AnsweredHook : public testing::TestWithParam<core::Fusion> {
 protected:
  AnsweredHook() : app_(TestApp::of_graph(approval)), job(app_.graphs[0], GetParam()) {
    job.state.job.id = JobId("w");
    job.queue.front().message = job.inbox.front().message = core::start_message(job.state.job.run, "{}");
    while (job.step()) hold_timers();
  }

  // Their time has not come: they wait in the inbox alone.
  void hold_timers() {
    std::erase_if(job.queue, [](const auto& one) { return std::holds_alternative<core::TimeUp>(one.message.body); });
  }
  // As an engine does when a stopped job continues: all that waits is read again.
  void continue_with(core::Body request) {
    job.queue.clear();
    job.ask(std::move(request));
    ASSERT_TRUE(job.step());
    ASSERT_EQ(job.state.job.status, JobStatus::running);
    job.crash();
    job.run();
  }
  void answer() { job.ask(GiveAnswer{ActivitySeq(1), 200, R"({"word":"yes"})"}); }
  std::size_t answers_kept() const {
    std::size_t kept = 0;
    for (const auto& one : job.inbox) kept += std::holds_alternative<GiveAnswer>(one.message.body) ? 1 : 0;
    return kept;
  }

  TestApp app_;
  TestJob job;
};
INSTANTIATE_TEST_SUITE_P(fusion, AnsweredHook, testing::Values(core::Fusion::on, core::Fusion::off),
                         [](const auto& one) { return one.param == core::Fusion::on ? "on" : "off"; });

TEST_P(AnsweredHook, of_a_paused_job_waits_until_it_continues) {
  job.ask(core::Pause{"later"});
  answer();
  job.run();
  ASSERT_EQ(job.state.job.status, JobStatus::paused);
  EXPECT_EQ(answers_kept(), 1u);
  EXPECT_EQ(job.state.find(ActivitySeq(1))->status, ActivityStatus::open);
  continue_with(core::Proceed{});
  EXPECT_EQ(job.state.job.status, JobStatus::completed) << "its hook's time is over too, and the answer was first";
  EXPECT_EQ(job.state.job.data.str(), R"({"said":"yes"})");
  EXPECT_TRUE(job.inbox.empty());
}

TEST_P(AnsweredHook, of_a_parked_job_waits_and_redrives_nothing) {
  core::DecideOptions options;
  const core::Bundle parked = core::park(job.state, "a person must look", options);
  ASSERT_TRUE(core::check(job.state, parked));
  core::apply(job.state, parked);
  answer();
  EXPECT_EQ(job.run(), 0);
  EXPECT_EQ(job.state.job.status, JobStatus::parked);
  EXPECT_EQ(answers_kept(), 1u);
  continue_with(core::Redrive{});
  EXPECT_EQ(job.state.job.status, JobStatus::completed);
  EXPECT_EQ(job.state.job.data.str(), R"({"said":"yes"})");
  EXPECT_EQ(job.state.job.redrives, 1u);
}

TEST_P(AnsweredHook, is_not_overtaken_by_a_timer_that_came_after_the_request_to_continue) {
  job.ask(core::Pause{"later"});
  job.run();
  answer();
  job.ask(core::Proceed{});
  for (const auto& one : job.inbox)
    if (std::holds_alternative<core::TimeUp>(one.message.body))
      job.queue.push_back({one.message, core::Origin::memory, 0, false});
  job.run();
  EXPECT_EQ(job.state.job.data.str(), R"({"said":"yes"})");
}

TEST_P(AnsweredHook, goes_before_the_timer_that_came_with_it) {
  job.queue.clear();
  answer();
  job.crash();  // the timer was stored first, and is loaded first
  ASSERT_TRUE(std::holds_alternative<core::TimeUp>(job.queue.front().message.body));
  job.run();
  EXPECT_EQ(job.state.job.data.str(), R"({"said":"yes"})");
}

}  // namespace
}  // namespace pawl::execute
