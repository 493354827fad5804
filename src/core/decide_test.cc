// One worker activity, digit by digit, with every step as a separate commit and with all of them fused.
#include "core/decide.h"
#include "core/test_graph.h"

#include "core/test_job.h"

namespace pawl::core {

namespace {

constexpr Guid start_guid = Guid::of_run(RunId(42)).derive(Guid::Purpose::start, 0);

// The digits of (activity, message) after each commit until nothing is left.
std::vector<std::string> trace(TestJob& job, std::uint32_t activity, const Guid& message) {
  std::vector<std::string> lines;
  while (job.step()) {
    const Activity* found = job.state.find(ActivitySeq(activity));
    lines.push_back(format("{} {} {}", found == nullptr ? "none" : found->ledger.digits(), job.ledger(message),
                           job.state.job.semaphore));
  }
  return lines;
}
using Trace = std::vector<std::string>;

TEST(decide_alone, the_trigger_marks_every_step_in_a_commit_of_its_own) {
  TestJob job(one_worker(), Fusion::off);
  EXPECT_EQ(trace(job, 0, start_guid),
            (Trace{
                "001110000000001 000010000000001 1",  // entered, step 1
                "001111000000001 000011000000001 1",  // step 2: one child for itself
                "001111000000001 000011000000001 1",  // the ack
                "001111000000001 000011000000001 1",  // the child: leg 1 entered
                "001111000000001 000011000000001 1",  // the child: leg 1 complete
                "001111000000001 000011000000001 1",  // the child's ack
            }));
  EXPECT_EQ(job.ledger(1), "001100000000000");
  EXPECT_TRUE(job.inbox.empty());
  EXPECT_NE(job.state.find_work(ActivitySeq(1)), nullptr);
}

TEST(decide_fused, a_start_and_its_childs_leg_1_are_one_commit) {
  TestJob job(one_worker());
  EXPECT_EQ(job.run(), 1);
  EXPECT_EQ(job.ledger(0), "001111000000001");
  EXPECT_EQ(job.ledger(start_guid), "000011000000001");
  EXPECT_EQ(job.ledger(1), "001100000000000");
  EXPECT_TRUE(job.inbox.empty());
}

TEST(decide_alone, leg_1_counts_its_entry_before_it_works) {
  TestJob job(one_worker(), Fusion::off);
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(job.step());
  EXPECT_EQ(job.inbox.size(), 1u) << "the child's transition waits";
  ASSERT_TRUE(job.step());
  EXPECT_EQ(job.ledger(1), "001000000000000");
  EXPECT_EQ(job.state.find_work(ActivitySeq(1)), nullptr);
  ASSERT_TRUE(job.step());
  EXPECT_EQ(job.ledger(1), "001100000000000");
  EXPECT_NE(job.state.find_work(ActivitySeq(1)), nullptr);
}

TEST(decide_alone, a_success_that_closes_the_job_marks_each_step) {
  TestJob job(one_worker(), Fusion::off);
  job.run();
  const Message answer = TestJob::answer(job.claim(1), ReplyStatus::success);
  job.deliver_local(answer);
  EXPECT_EQ(trace(job, 1, answer.guid),
            (Trace{
                "001100000000000 none 1",             // the reply is stored, the item is gone
                "001110000000001 000010000000001 1",  // entered, step 1
                "001111000000001 000111000000001 0",  // step 2 closed the job
                "001111100000001 000111100000001 0",  // step 3
                "001111100000001 000111100000001 0",  // the ack
            }));
  EXPECT_EQ(job.state.job.status, JobStatus::completed);
  EXPECT_EQ(job.state.job.completions, 1u);
  EXPECT_EQ(job.state.job.result, Payload("output"));
  EXPECT_TRUE(job.inbox.empty());
}

TEST(decide_fused, a_success_that_closes_the_job_is_one_commit_with_the_same_digits) {
  TestJob job(one_worker());
  job.run();
  const Message answer = TestJob::answer(job.claim(1), ReplyStatus::success);
  job.deliver_local(answer);
  EXPECT_EQ(trace(job, 1, answer.guid), Trace{"001111100000001 000111100000001 0"});
  EXPECT_EQ(job.state.job.status, JobStatus::completed);
  EXPECT_LE(job.commits.back().writes.size() + 1, 7u) << "the budget of row writes";
}

TEST(decide_alone, a_pending_reply_marks_its_message_but_not_its_activity) {
  TestJob job(one_worker(), Fusion::off);
  job.run();
  const Message pending = TestJob::answer(job.claim(1), ReplyStatus::pending);
  job.deliver_local(pending);
  EXPECT_EQ(trace(job, 1, pending.guid), (Trace{
                                             "001100000000000 none 1",
                                             "001100000000001 000000000000001 1",  // only the entry
                                             "001100000000001 000010000000001 1",
                                             "001100000000001 000011000000001 1",
                                             "001100000000001 000011000000001 1",
                                         }));
  EXPECT_EQ(job.state.job.status, JobStatus::running);
  EXPECT_NE(job.state.find_work(ActivitySeq(1)), nullptr) << "its worker goes on";
}

TEST(decide_fused, ten_pending_replies_never_carry_into_a_mark) {
  TestJob job(one_worker());
  job.run();
  const WorkItem item = job.claim(1);
  for (std::uint64_t index = 0; index < 12; ++index)
    job.deliver_local(TestJob::answer(item, ReplyStatus::pending, 202, index));
  EXPECT_EQ(job.run(), 1) << "all of them in one bundle";
  EXPECT_EQ(job.ledger(1), "001100000000012");
  EXPECT_EQ(job.ledger(TestJob::answer(item, ReplyStatus::pending, 202, 11).guid), "000011000000012");
  job.work(1);
  EXPECT_EQ(job.ledger(1), "001111100000013");
  EXPECT_EQ(job.state.job.status, JobStatus::completed);
}

TEST(decide_fused, pending_replies_open_children_in_planes_of_their_own) {
  TestJob job(*TestGraph("g").trigger("t").worker("work", "a").after("t").worker("each", "b").after("work").build());
  job.run();
  const WorkItem item = job.claim(1);
  for (std::uint64_t index = 0; index < 3; ++index)
    job.deliver_local(TestJob::answer(item, ReplyStatus::pending, 202, index));
  job.run();
  ASSERT_EQ(job.state.activities().size(), 5u);
  for (std::uint32_t i = 0; i < 3; ++i) EXPECT_EQ(job.state.activities()[2 + i].at.text(), format(",0,{},0", i));
  EXPECT_EQ(job.state.job.semaphore, 4) << "pending: the parent stays open beside its children";
}

class BothFusions : public testing::TestWithParam<Fusion> {};

TEST_P(BothFusions, a_caught_error_opens_its_catcher) {
  TestJob job(one_catcher(), GetParam());
  job.run();
  job.work(1, ReplyStatus::error, 500);
  EXPECT_EQ(job.ledger(1), "001111000000001");
  EXPECT_EQ(job.state.activities()[1].status, ActivityStatus::errored);
  EXPECT_EQ(job.state.activities()[1].code, 500);
  EXPECT_EQ(job.ledger(2), "001100000000000");
  EXPECT_EQ(job.state.job.status, JobStatus::running);
  job.work(2);
  EXPECT_EQ(job.state.job.status, JobStatus::completed);
}

TEST_P(BothFusions, a_success_leaves_the_catcher_alone) {
  TestJob job(one_catcher(), GetParam());
  job.run();
  job.work(1);
  EXPECT_EQ(job.state.activities().size(), 2u);
  EXPECT_EQ(job.state.job.status, JobStatus::completed);
}

TEST_P(BothFusions, an_uncaught_error_fails_the_job_once_and_sweeps_it) {
  TestJob job(two_workers(), GetParam());
  job.run();
  const Message answer = TestJob::answer(job.claim(1), ReplyStatus::error, 500);
  job.deliver_local(answer);
  job.run();
  EXPECT_EQ(job.state.job.status, JobStatus::failed);
  EXPECT_EQ(job.state.job.semaphore, 0);
  EXPECT_EQ(job.state.job.completions, 1u);
  EXPECT_EQ(job.state.job.reason, "activity a failed with code 500: output");
  EXPECT_EQ(job.ledger(1), "001111100000001");
  EXPECT_EQ(job.ledger(answer.guid), "000111100000001");
  EXPECT_EQ(job.ledger(2), "001100000000000") << "the sibling's ledger tells how far it came";
  EXPECT_TRUE(job.state.work().empty());
  EXPECT_TRUE(job.inbox.empty());
}

TEST_P(BothFusions, a_late_response_changes_nothing) {
  // The activity was claimed by its first concluding message.
  TestJob job(two_workers(), GetParam());
  job.run();
  const WorkItem item = job.claim(1);
  job.work(1);
  const JobState before = job.state;
  Message late = TestJob::answer(item, ReplyStatus::error, 500);
  late.guid = Guid{1, 2};
  job.deliver_remote(late);
  job.run();
  EXPECT_EQ(job.state.activities(), before.activities());
  EXPECT_EQ(job.state.job.semaphore, before.job.semaphore);
  EXPECT_EQ(job.ledger(late.guid), "none");
  EXPECT_TRUE(job.inbox.empty()) << "rule G: it is acknowledged";
}

TEST_P(BothFusions, a_repeated_response_changes_nothing) {
  // A worker that replies twice is recognised by the guid of its reply.
  TestJob job(two_workers(), GetParam());
  job.run();
  const Message answer = TestJob::answer(job.claim(1), ReplyStatus::success);
  job.deliver_local(answer);
  job.run();
  const JobState before = job.state;
  job.deliver_local(answer);
  EXPECT_EQ(job.run(), 0);
  job.deliver_remote(answer);
  job.run();
  EXPECT_EQ(job.state.activities(), before.activities());
  EXPECT_EQ(job.ledger(answer.guid), "000011000000001");
  EXPECT_EQ(job.state.job.semaphore, before.job.semaphore);
  EXPECT_TRUE(job.inbox.empty());
}

TEST_P(BothFusions, a_stale_token_changes_nothing_and_commits_nothing) {
  TestJob job(one_worker(), GetParam());
  job.run();
  const WorkItem first = job.claim(1);
  const WorkItem second = job.claim(1);
  ASSERT_NE(first.token, second.token);
  job.deliver_local(TestJob::answer(first, ReplyStatus::success));
  EXPECT_EQ(job.run(), 0);
  EXPECT_TRUE(job.queue.empty()) << "it is dropped, not kept";
  EXPECT_EQ(job.ledger(1), "001100000000000");
  job.deliver_local(TestJob::answer(second, ReplyStatus::success));
  job.run();
  EXPECT_EQ(job.state.job.status, JobStatus::completed);
}

TEST_P(BothFusions, a_response_to_a_closed_job_changes_nothing) {
  TestJob job(two_workers(), GetParam());
  job.run();
  const Message sibling = TestJob::answer(job.claim(2), ReplyStatus::success);
  job.work(1, ReplyStatus::error, 500);
  ASSERT_EQ(job.state.job.status, JobStatus::failed);
  const JobState before = job.state;
  job.deliver_local(sibling);
  EXPECT_EQ(job.run(), 0);
  job.deliver_remote(sibling);
  job.run();
  EXPECT_EQ(job.state.activities(), before.activities());
  EXPECT_EQ(job.state.job.completions, 1u);
  EXPECT_TRUE(job.inbox.empty());
}

TEST_P(BothFusions, a_chain_passes_each_output_on_and_ends_with_the_last) {
  TestJob job(*TestGraph("g").trigger("t").worker("a", "x").after("t").worker("b", "y").after("a").build(), GetParam());
  job.run();
  EXPECT_EQ(job.state.find_work(ActivitySeq(1))->input, Payload("input"));
  job.work(1);
  EXPECT_EQ(job.state.find_work(ActivitySeq(2))->input, Payload("output"));
  EXPECT_EQ(job.state.find_work(ActivitySeq(2))->topic, Topic("y"));
  job.work(2);
  EXPECT_EQ(job.state.job.result, Payload("output"));
}

TEST_P(BothFusions, a_fan_in_of_a_thousand_closes_the_job_once) {
  TestGraph builder("g");
  builder.trigger("t");
  for (int i = 0; i < 1000; ++i) builder.worker(format("w{}", i), "topic").after("t");
  TestJob job(*builder.build(), GetParam());
  job.run();
  for (std::uint32_t i = 1; i <= 1000; ++i) job.deliver_local(TestJob::answer(job.claim(i), ReplyStatus::success));
  const int commits = job.run();
  if (GetParam() == Fusion::on) {
    EXPECT_EQ(commits, 1);
  }
  EXPECT_EQ(job.state.job.status, JobStatus::completed);
  EXPECT_EQ(job.state.job.completions, 1u);
  int closers = 0;
  for (const auto& [guid, record] : job.state.messages()) closers += record.ledger.job_closed() ? 1 : 0;
  EXPECT_EQ(closers, 1);
}

INSTANTIATE_TEST_SUITE_P(fusions, BothFusions, testing::Values(Fusion::on, Fusion::off),
                         [](const auto& one) { return one.param == Fusion::on ? "fused" : "alone"; });

}  // namespace

}  // namespace pawl::core
