// The rules of the ledger protocol that concern the core, one test for each, over every commit of a job that is played
// with one commit per step.
#include "core/test_graph.h"
#include "core/test_job.h"

namespace pawl::core {

namespace {

using Mark = ledger::ActivityLedger::Mark;
using Step = ledger::MessageLedger::Step;

// trigger -> work -> one, two
Graph two_children() {
  return *TestGraph("g")
              .trigger("t")
              .worker("work", "x")
              .after("t")
              .worker("one", "x")
              .after("work")
              .worker("two", "x")
              .after("work")
              .build();
}

template <class W>
const W* find_write(const Bundle& bundle) {
  for (const Write& write : bundle.writes)
    if (const auto* found = std::get_if<W>(&write)) return found;
  return nullptr;
}

// The bundles that an answer to activity 1 commits, and its message.
struct Played {
  TestJob job;
  Message answer;
  std::size_t first;  // the answer's first commit
};
Played play(Graph graph, ReplyStatus status = ReplyStatus::success) {
  TestJob job(std::move(graph), Fusion::off);
  job.run();
  const Message answer = TestJob::answer(job.claim(1), status, status == ReplyStatus::error ? 500 : 200);
  const std::size_t first = job.commits.size();
  job.deliver_local(answer);
  job.run();
  return {std::move(job), answer, first};
}

// The commit in which the message's ledger got this step.
const Bundle* commit_of(const Played& played, Step step) {
  for (std::size_t i = played.first; i < played.job.commits.size(); ++i)
    for (const Write& write : played.job.commits[i].writes)
      if (const auto* put = std::get_if<PutRecord>(&write); put != nullptr && put->after.guid == played.answer.guid)
        if (put->after.ledger.done(step) && !(put->before && put->before->done(step))) return &played.job.commits[i];
  return nullptr;
}

TEST(rules, rule_a_no_ledger_ever_falls) {
  const Played played = play(two_children());
  for (const Bundle& bundle : played.job.commits)
    for (const Write& write : bundle.writes) {
      if (const auto* put = std::get_if<PutActivity>(&write); put != nullptr && put->before) {
        EXPECT_GE(put->after.ledger.encode(), put->before->encode());
      }
      if (const auto* put = std::get_if<PutRecord>(&write); put != nullptr && put->before) {
        EXPECT_GE(put->after.ledger.encode(), put->before->encode());
      }
    }
}

TEST(rules, rule_b_a_mark_is_in_the_commit_of_the_work_it_proves) {
  // Step 1: the output; step 2: the children and the semaphore; step 3: the completion tasks.
  const Played played = play(two_children());
  const Bundle* work = commit_of(played, Step::work);
  ASSERT_NE(work, nullptr);
  EXPECT_EQ(find_write<PutActivity>(*work)->after.output, Payload("output"));
  EXPECT_TRUE(find_write<PutActivity>(*work)->after.ledger.has(Mark::work_done));
  const Bundle* spawn = commit_of(played, Step::spawn);
  ASSERT_NE(spawn, nullptr);
  EXPECT_NE(spawn, work);
  EXPECT_TRUE(find_write<PutActivity>(*spawn)->after.ledger.has(Mark::children_spawned));
  EXPECT_NE(find_write<PutMessage>(*spawn), nullptr);

  const Played closing = play(one_worker());
  const Bundle* finish = commit_of(closing, Step::finish);
  ASSERT_NE(finish, nullptr);
  EXPECT_EQ(std::get<JobHead>(finish->head).completions, 1u);
  EXPECT_EQ(std::get<JobHead>(finish->head).result, Payload("output"));
  EXPECT_TRUE(find_write<PutActivity>(*finish)->after.ledger.has(Mark::completion_done));
}

TEST(rules, rule_b_leg_1_is_complete_in_the_commit_that_enqueues_its_request) {
  const Played played = play(two_children());
  int enqueued = 0;
  for (const Bundle& bundle : played.job.commits) {
    const PutWork* put = find_write<PutWork>(bundle);
    if (put == nullptr) continue;
    ++enqueued;
    EXPECT_TRUE(find_write<PutActivity>(bundle)->after.ledger.has(Mark::leg1_complete));
  }
  EXPECT_EQ(enqueued, 3);
}

TEST(rules, rule_c_the_message_ledger_alone_says_where_to_resume) {
  // Another message set the activity's own mark "work done"; only the record of this message counts.
  TestJob job(two_children(), Fusion::off);
  job.run();
  const Message answer = TestJob::answer(job.claim(1), ReplyStatus::success);
  job.deliver_local(answer);
  job.step();  // stored
  job.step();  // entered, step 1
  ASSERT_EQ(job.ledger(answer.guid), "000010000000001");
  job.crash();
  job.run();
  EXPECT_EQ(job.ledger(answer.guid), "000011000000001");
  EXPECT_EQ(job.ledger(1), "001111000000001");
  EXPECT_EQ(job.state.activities().size(), 4u) << "each child once";
}

TEST(rules, rule_c_step_3_runs_although_the_semaphore_is_already_zero) {
  // The crash between closing the job and its completion tasks.
  for (const ReplyStatus status : {ReplyStatus::success, ReplyStatus::error}) {
    TestJob job(one_worker(), Fusion::off);
    job.run();
    const Message answer = TestJob::answer(job.claim(1), status, status == ReplyStatus::error ? 500 : 200);
    job.deliver_local(answer);
    for (int i = 0; i < 3; ++i) job.step();
    ASSERT_EQ(job.ledger(answer.guid), "000111000000001");
    ASSERT_EQ(job.state.job.semaphore, 0);
    ASSERT_EQ(job.state.job.completions, 0u);
    job.crash();
    job.run();
    EXPECT_EQ(job.ledger(answer.guid), "000111100000001");
    EXPECT_EQ(job.state.job.completions, 1u);
    EXPECT_TRUE(job.inbox.empty());
  }
}

TEST(rules, rule_d_step_2_is_one_commit_of_children_semaphore_marks_and_snapshot) {
  const Played opening = play(two_children());
  const Bundle* spawn = commit_of(opening, Step::spawn);
  ASSERT_NE(spawn, nullptr);
  const auto& semaphore = std::get<JobHead>(spawn->head).semaphore;
  ASSERT_TRUE(semaphore);
  EXPECT_EQ(*semaphore, (SemaphoreStep{1, 1, 0, false})) << "N - 1 for two children";
  int children = 0;
  for (const Write& write : spawn->writes) children += std::holds_alternative<PutMessage>(write) ? 1 : 0;
  EXPECT_EQ(children, 2);
  EXPECT_FALSE(find_write<PutRecord>(*spawn)->after.ledger.job_closed());

  const Played closing = play(one_worker());
  const Bundle* last = commit_of(closing, Step::spawn);
  ASSERT_NE(last, nullptr);
  EXPECT_EQ(*std::get<JobHead>(last->head).semaphore, (SemaphoreStep{1, -1, 0, true}));
  EXPECT_TRUE(find_write<PutRecord>(*last)->after.ledger.job_closed());
}

TEST(rules, rule_g_every_message_leaves_the_inbox) {
  for (const ReplyStatus status : {ReplyStatus::success, ReplyStatus::error})
    for (Graph graph : {one_worker(), one_catcher(), two_children()}) {
      const Played played = play(std::move(graph), status);
      EXPECT_TRUE(played.job.inbox.empty());
      EXPECT_TRUE(played.job.queue.empty());
    }
}

TEST(rules, reading_g_marks_give_no_right_to_step_2_in_a_failed_job) {
  TestJob job(two_children(), Fusion::off);
  job.run();
  const Message answer = TestJob::answer(job.claim(1), ReplyStatus::success);
  job.deliver_local(answer);
  job.step();
  job.step();
  ASSERT_EQ(job.ledger(answer.guid), "000010000000001");
  job.state.job.status = JobStatus::interrupted;
  job.state.job.semaphore = 0;
  job.run();
  EXPECT_EQ(job.ledger(answer.guid), "000010000000001");
  EXPECT_EQ(job.state.activities().size(), 2u) << "no child was opened";
  EXPECT_TRUE(job.inbox.empty());
}

TEST(rules, reading_g_a_half_done_message_is_finished_before_others_are_entered) {
  TestJob job(two_workers(), Fusion::off);
  job.run();
  const Message first = TestJob::answer(job.claim(1), ReplyStatus::success);
  const Message second = TestJob::answer(job.claim(2), ReplyStatus::success);
  job.deliver_remote(first);
  job.step();
  ASSERT_EQ(job.ledger(first.guid), "000010000000001");
  job.deliver_remote(second);
  std::swap(job.queue[0], job.queue[1]);
  job.step();
  EXPECT_EQ(job.ledger(first.guid), "000011000000001");
  EXPECT_EQ(job.ledger(second.guid), "none");
}

TEST(rules, reading_k_the_request_guid_is_the_same_in_every_run_and_fusion) {
  TestJob alone(one_worker(), Fusion::off);
  TestJob fused(one_worker(), Fusion::on);
  alone.run();
  fused.run();
  const Guid request = alone.state.find_work(ActivitySeq(1))->request;
  EXPECT_EQ(fused.state.find_work(ActivitySeq(1))->request, request);
  EXPECT_EQ(alone.claim(1).request, request);
  EXPECT_EQ(alone.claim(1).request, request);
}

}  // namespace

}  // namespace pawl::core
