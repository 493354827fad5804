// A failed child is replaced: what one commit holds, and what happens to late messages of the old child.
#include "core/codec.h"
#include "core/kind_state.h"
#include "core/test_job.h"
#include "execute/test_support.h"

namespace pawl::execute {
namespace {

using core::AwaitState;
using core::ChildDone;
using core::Guid;
using core::Message;
using core::ReplyStatus;
using core::StartChild;
using core::TestJob;

const char* const family = R"(app:
  id: test
  version: 1
  graphs:
    - subscribes: test.start
      activities:
        start: {type: trigger}
        call: {type: await, topic: test.child, retry: {maximumAttempts: 3, initialInterval: 10s}}
      transitions: {start: [{to: call}]}
    - subscribes: test.child
      activities: {child: {type: trigger}}
)";

struct Sent {
  JobId id;
  StartChild start;
};
std::vector<Sent> children_of(const TestJob& job) {
  std::vector<Sent> sent;
  for (const core::Bundle& bundle : job.commits)
    for (const core::Write& write : bundle.writes)
      if (const auto* send = std::get_if<core::Send>(&write))
        if (const auto* start = std::get_if<StartChild>(&send->envelope.message.body))
          sent.push_back({std::get<core::JobKey>(send->envelope.to).id, *start});
  return sent;
}

class AwaitRetry : public testing::TestWithParam<core::Fusion> {
 protected:
  AwaitRetry() : app_(family), job(app_.graphs[0], GetParam()) {
    job.state.job.id = JobId("p");
    job.run();
  }

  static Message last_word(const Sent& child, ReplyStatus status, std::int32_t code) {
    return {core::last_word_of(child.start.parent.request),
            ChildDone{child.start.parent.activity, status, code, Payload("{}")}};
  }
  static Message word(const Sent& child) {
    return {core::word_of(child.start.parent.request, Guid{5, 6}),
            ChildDone{child.start.parent.activity, ReplyStatus::pending, 202, Payload("{}")}};
  }
  AwaitState state() const {
    return *core::decode_state<AwaitState>(job.state.find(core::ActivitySeq(1))->state.view());
  }
  // Takes the timer that was set out of the queue: its time has not come.
  Message hold_timer() {
    const auto timer = std::find_if(job.queue.begin(), job.queue.end(), [](const core::Delivery& one) {
      return std::holds_alternative<core::TimeUp>(one.message.body);
    });
    EXPECT_NE(timer, job.queue.end());
    const Message message = timer->message;
    job.queue.erase(timer);
    return message;
  }
  void fire(const Message& timer) { job.queue.push_back({timer, core::Origin::memory, 0, false}); }

  TestApp app_;
  TestJob job;
};
INSTANTIATE_TEST_SUITE_P(fusion, AwaitRetry, testing::Values(core::Fusion::on, core::Fusion::off),
                         [](const auto& one) { return one.param == core::Fusion::on ? "on" : "off"; });

TEST_P(AwaitRetry, is_one_commit_that_marks_nothing) {
  const std::string before = job.ledger(1);
  job.deliver_stored(last_word(children_of(job)[0], ReplyStatus::error, 503));
  const std::size_t commits = job.commits.size();
  ASSERT_TRUE(job.step());
  const Message timer = hold_timer();
  EXPECT_EQ(job.run(), 0);
  EXPECT_EQ(job.commits.size(), commits + 1);
  EXPECT_EQ(job.ledger(1), before);
  ASSERT_EQ(job.inbox.size(), 1u) << "the word is taken, the timer waits";
  EXPECT_EQ(job.inbox[0].message, timer);
  EXPECT_EQ(std::get<core::TimeUp>(timer.body).what, core::TimeUp::What::retry);
  EXPECT_EQ(state().failed(), 1u);
  EXPECT_TRUE(state().waits_to_try());
  fire(timer);
  EXPECT_EQ(job.run(), 1);
  EXPECT_FALSE(state().waits_to_try());
  EXPECT_EQ(job.ledger(1), before);
  EXPECT_TRUE(job.inbox.empty());
  const auto children = children_of(job);
  ASSERT_EQ(children.size(), 2u);
  EXPECT_EQ(children[0].id.raw(), "p/call.0.0");
  EXPECT_EQ(children[1].id.raw(), "p/call.0.0/try.2");
  EXPECT_EQ(state().child, "p/call.0.0/try.2");
  EXPECT_NE(children[0].start.parent.request, children[1].start.parent.request);
}

TEST_P(AwaitRetry, words_of_a_child_that_was_replaced_change_nothing) {
  const Sent first = children_of(job)[0];
  job.deliver_stored(last_word(first, ReplyStatus::error, 503));
  ASSERT_TRUE(job.step());
  const Message timer = hold_timer();
  const core::JobState waiting = job.state;
  const auto speak_late = [&] {
    for (const Message& late :
         {last_word(first, ReplyStatus::error, 503), last_word(first, ReplyStatus::success, 200), word(first)}) {
      job.deliver_stored(late);
      job.run();
    }
  };
  speak_late();
  EXPECT_EQ(job.state.activities(), waiting.activities()) << "during the pause";
  EXPECT_EQ(job.state.messages(), waiting.messages());
  fire(timer);
  job.run();
  const core::JobState running = job.state;
  speak_late();
  fire(timer);
  job.run();
  EXPECT_EQ(job.state.activities(), running.activities()) << "while the second runs";
  EXPECT_EQ(job.state.messages(), running.messages());
  EXPECT_EQ(children_of(job).size(), 2u);
  EXPECT_TRUE(job.inbox.empty());
  const Sent second = children_of(job)[1];
  job.deliver_stored(word(second));
  job.run();
  EXPECT_EQ(job.ledger(1), "001100000000001") << "the second is heard";
  job.deliver_stored(last_word(second, ReplyStatus::success, 200));
  job.run();
  EXPECT_EQ(job.state.job.status, core::JobStatus::completed);
  EXPECT_EQ(job.ledger(1), "001111100000002");
}

TEST_P(AwaitRetry, a_crash_at_any_time_starts_every_child_once) {
  job.deliver_stored(last_word(children_of(job)[0], ReplyStatus::error, 503));
  job.crash();
  ASSERT_TRUE(job.step()) << "the entry";
  ASSERT_TRUE(job.step()) << "the retry";
  EXPECT_EQ(state().failed(), 1u);
  job.crash();
  ASSERT_TRUE(job.step()) << "the timer's entry";
  EXPECT_EQ(children_of(job).size(), 1u);
  job.crash();
  job.run();
  EXPECT_EQ(children_of(job).size(), 2u);
  job.crash();
  EXPECT_EQ(job.run(), 0);
  EXPECT_TRUE(job.inbox.empty());
}

}  // namespace
}  // namespace pawl::execute
