#include "core/test_graph.h"
#include "core/test_job.h"

namespace pawl::core {

namespace {

using namespace std::chrono_literals;

class Control : public testing::TestWithParam<Fusion> {};
INSTANTIATE_TEST_SUITE_P(fusion, Control, testing::Values(Fusion::on, Fusion::off),
                         [](const auto& one) { return one.param == Fusion::on ? "on" : "off"; });

TEST_P(Control, an_interrupt_closes_the_job_in_one_bundle_and_takes_everything_with_it) {
  TestJob job(two_workers(), GetParam());
  job.run();
  job.claim(1);
  job.ask(Interrupt{410, "no longer wanted"});
  EXPECT_EQ(job.run(), 1);
  EXPECT_EQ(job.state.job.status, JobStatus::interrupted);
  EXPECT_EQ(job.state.job.reason, "no longer wanted");
  EXPECT_EQ(job.state.job.semaphore, 0);
  EXPECT_EQ(job.state.job.completions, 1u);
  EXPECT_TRUE(job.state.work().empty());
  EXPECT_TRUE(job.inbox.empty());
  int closers = 0;
  for (const auto& [guid, record] : job.state.messages()) closers += record.ledger.job_closed() ? 1 : 0;
  EXPECT_EQ(closers, 1) << "the snapshot stands on the message that closed the job";
}

TEST_P(Control, an_interrupt_before_the_start_leaves_no_instance) {
  TestJob job(one_worker(), GetParam());
  job.queue.clear();
  job.ask(Interrupt{});
  job.run();
  EXPECT_EQ(job.state.job.status, JobStatus::interrupted);
  EXPECT_TRUE(job.state.activities().empty());
  EXPECT_TRUE(job.inbox.empty()) << "the start message is swept";
}

TEST_P(Control, an_answer_after_an_interrupt_changes_nothing) {
  TestJob job(one_worker(), GetParam());
  job.run();
  const WorkItem item = job.claim(1);
  job.ask(Interrupt{});
  job.run();
  job.deliver_local(TestJob::answer(item, ReplyStatus::success));
  job.ask(Interrupt{});
  job.run();
  EXPECT_EQ(job.state.job.status, JobStatus::interrupted);
  EXPECT_EQ(job.state.job.completions, 1u);
}

TEST_P(Control, a_paused_job_stores_answers_and_goes_on_with_them) {
  TestJob job(two_workers(), GetParam());
  job.run();
  const WorkItem a = job.claim(1);
  job.ask(Pause{"lunch"});
  job.run();
  EXPECT_EQ(job.state.job.status, JobStatus::paused);
  EXPECT_EQ(job.state.job.reason, "lunch");
  EXPECT_TRUE(job.state.find_work(ActivitySeq(2))->held);
  const std::string before = job.ledger(1);
  job.deliver_local(TestJob::answer(a, ReplyStatus::success));
  job.run();
  EXPECT_EQ(job.ledger(1), before) << "no step is taken while it is paused";
  EXPECT_EQ(job.inbox.size(), 1u) << "the worker need not answer again";
  EXPECT_EQ(job.state.find_work(ActivitySeq(1)), nullptr);
  job.crash();
  job.ask(Proceed{});
  job.run();
  job.crash();
  job.run();
  EXPECT_EQ(job.state.job.status, JobStatus::running);
  EXPECT_EQ(job.state.job.reason, "");
  EXPECT_EQ(job.state.find(ActivitySeq(1))->status, ActivityStatus::completed);
  EXPECT_FALSE(job.state.find_work(ActivitySeq(2))->held);
  job.work(2);
  EXPECT_EQ(job.state.job.status, JobStatus::completed);
  EXPECT_TRUE(job.inbox.empty());
}

TEST_P(Control, an_error_during_a_pause_is_tried_again_after_it) {
  TestJob job(*TestGraph("g")
                   .trigger("t")
                   .worker("w", "x")
                   .after("t")
                   .retry(Retry().attempts(2).when_exhausted(WhenExhausted::park))
                   .build(),
              GetParam());
  job.run();
  const WorkItem item = job.claim(1);
  job.ask(Pause{});
  job.run();
  job.deliver_local(TestJob::answer(item, ReplyStatus::error, 500));
  job.run();
  ASSERT_NE(job.state.find_work(ActivitySeq(1)), nullptr) << "the item waits for the decision";
  job.ask(Proceed{});
  job.run();
  job.crash();
  job.run();
  EXPECT_EQ(job.state.find_work(ActivitySeq(1))->life.failures, 1u);
  EXPECT_TRUE(job.inbox.empty());
}

TEST_P(Control, requests_that_do_not_fit_the_state_are_heard_and_change_nothing) {
  TestJob job(one_worker(), GetParam());
  job.run();
  job.ask(Proceed{});
  job.ask(Redrive{});
  job.run();
  EXPECT_EQ(job.state.job.status, JobStatus::running);
  EXPECT_EQ(job.state.job.redrives, 0u);
  EXPECT_TRUE(job.inbox.empty());
  job.ask(Pause{"first"});
  job.ask(Pause{"second"});
  job.ask(Redrive{});
  job.run();
  EXPECT_EQ(job.state.job.reason, "first");
  EXPECT_EQ(job.state.job.status, JobStatus::paused);
  job.ask(Interrupt{410, "enough"});
  job.run();
  EXPECT_EQ(job.state.job.status, JobStatus::interrupted) << "a paused job can be ended";
  EXPECT_TRUE(job.inbox.empty());
}

TEST_P(Control, a_redriven_message_may_be_entered_as_often_again) {
  TestJob job(one_worker(), GetParam());
  for (std::uint32_t i = 0; i < limits::reentries_max; ++i) {
    job.crash();
    ASSERT_TRUE(job.step()) << i;
  }
  job.crash();
  job.run();
  EXPECT_EQ(job.state.job.status, JobStatus::parked);
  job.ask(Redrive{});
  job.run();
  job.crash();
  job.run();
  EXPECT_EQ(job.state.job.status, JobStatus::running);
  job.work(1);
  EXPECT_EQ(job.state.job.status, JobStatus::completed);
}

TEST_P(Control, the_deadline_goes_when_the_job_ends_and_ends_it_when_it_comes) {
  for (const bool in_time : {true, false}) {
    TestJob job(one_worker(), GetParam());
    job.state.job.deadline = Instant::from_micros(5'000'000);
    const Message deadline = deadline_message(job.state.job.run);
    job.run();
    if (in_time) {
      job.inbox.push_back({deadline, 0, job.state.job.deadline});
      job.work(1);
      EXPECT_EQ(job.state.job.status, JobStatus::completed);
    } else {
      job.deliver_stored(deadline);
      job.run();
      EXPECT_EQ(job.state.job.status, JobStatus::interrupted);
    }
    EXPECT_TRUE(job.inbox.empty());
  }
}

TEST_P(Control, a_closed_job_knows_when_it_may_go) {
  TestJob kept(one_worker(), GetParam());
  kept.run();
  kept.work(1);
  EXPECT_EQ(kept.state.job.remove_at, Instant()) << "for ever, unless somebody said otherwise";
  TestJob going(one_worker(), GetParam());
  going.state.job.keep = 10s;
  going.run();
  going.work(1);
  EXPECT_EQ(going.state.job.remove_at - going.state.job.closed_at, 10s);
}

}  // namespace

}  // namespace pawl::core
