// A run that brings answers along: what was answered is not asked again, what failed is, under the same name.
#include "core/carried.h"

#include "core/test_job.h"

namespace pawl::core {

namespace {

class CarriedAnswers : public testing::TestWithParam<Fusion> {
 protected:
  // t -> a -> b, and a third one where a's error 402 is caught.
  static Graph chain() {
    return *TestGraph("g")
                .trigger("t")
                .worker("a", "topic")
                .after("t")
                .worker("b", "topic")
                .after("a")
                .worker("refuse", "topic")
                .after("a", Condition::code(402))
                .build();
  }
  static Carried answer(std::uint32_t node, const char* at, ReplyStatus status, std::int32_t code, Payload data) {
    Carried carried;
    carried.node = node;
    carried.at = *ledger::Dimensions::parse(at);
    carried.status = status;
    carried.code = code;
    carried.data = std::move(data);
    return carried;
  }
  static void start_with(TestJob& job, std::vector<Carried> carried) {
    job.inbox.clear();
    job.queue.clear();
    job.deliver_stored(start_message(job.state.job.run, pack({Payload("input"), std::move(carried)})));
  }
};

TEST_P(CarriedAnswers, are_taken_and_nobody_is_asked) {
  TestJob job(chain(), GetParam());
  start_with(job, {answer(1, ",0,0", ReplyStatus::success, 200, "first")});
  job.run();
  EXPECT_EQ(job.state.find(ActivitySeq(0))->output.str(), "input") << "the input is what the caller gave";
  ASSERT_EQ(job.state.activities().size(), 3u);
  EXPECT_EQ(job.state.find(ActivitySeq(1))->status, ActivityStatus::completed);
  EXPECT_EQ(job.state.find(ActivitySeq(1))->output.str(), "first");
  EXPECT_EQ(job.state.find_work(ActivitySeq(1)), nullptr);
  ASSERT_NE(job.state.find_work(ActivitySeq(2)), nullptr) << "b is asked";
  EXPECT_EQ(job.state.find_work(ActivitySeq(2))->input.str(), "first");
  job.work(2);
  EXPECT_EQ(job.state.job.status, JobStatus::completed);
  EXPECT_EQ(job.state.job.semaphore, 0);
  EXPECT_TRUE(job.inbox.empty());
}

TEST_P(CarriedAnswers, of_an_error_that_was_caught_lead_where_it_led) {
  TestJob job(chain(), GetParam());
  start_with(job, {answer(1, ",0,0", ReplyStatus::fatal, 402, "declined")});
  job.run();
  EXPECT_EQ(job.state.find(ActivitySeq(1))->status, ActivityStatus::errored);
  ASSERT_NE(job.state.find_work(ActivitySeq(2)), nullptr);
  EXPECT_EQ(job.state.find(ActivitySeq(2))->node, 3u);
  job.work(2);
  EXPECT_EQ(job.state.job.status, JobStatus::completed);
}

TEST_P(CarriedAnswers, work_that_is_asked_again_keeps_its_name) {
  TestJob job(chain(), GetParam());
  Carried again;
  again.node = 1;
  again.at = *ledger::Dimensions::parse(",0,0");
  again.answered = false;
  again.request = Guid{11, 12};
  start_with(job, {again});
  job.run();
  ASSERT_NE(job.state.find_work(ActivitySeq(1)), nullptr);
  EXPECT_EQ(job.state.find_work(ActivitySeq(1))->request, (Guid{11, 12}));
}

TEST_P(CarriedAnswers, survive_a_crash_after_every_commit) {
  const std::vector<Carried> carried = {answer(1, ",0,0", ReplyStatus::success, 200, "first")};
  for (int crash_after = 0; crash_after < 12; ++crash_after) {
    TestJob job(chain(), GetParam());
    start_with(job, carried);
    for (int i = 0; i < crash_after && job.step(); ++i) {
    }
    job.crash();
    job.run();
    ASSERT_NE(job.state.find_work(ActivitySeq(2)), nullptr) << crash_after;
    EXPECT_EQ(job.state.find_work(ActivitySeq(1)), nullptr) << crash_after;
    job.work(2);
    EXPECT_EQ(job.state.job.status, JobStatus::completed) << crash_after;
    EXPECT_EQ(job.state.job.completions, 1u);
  }
}

TEST_P(CarriedAnswers, a_person_may_answer_for_a_worker_of_a_parked_job) {
  TestJob job(*TestGraph("g")
                   .trigger("t")
                   .worker("a", "topic")
                   .after("t")
                   .retry(Retry().attempts(1).when_exhausted(WhenExhausted::park))
                   .worker("b", "topic")
                   .after("a")
                   .build(),
              GetParam());
  job.run();
  job.work(1, ReplyStatus::error, 500);
  ASSERT_EQ(job.state.job.status, JobStatus::parked);
  job.ask(GiveAnswer{ActivitySeq(1), 200, "given"});
  job.step();
  job.crash();
  job.run();
  EXPECT_EQ(job.state.job.status, JobStatus::running);
  EXPECT_EQ(job.state.job.redrives, 1u);
  EXPECT_EQ(job.state.find(ActivitySeq(1))->output.str(), "given");
  EXPECT_EQ(job.state.find_work(ActivitySeq(1)), nullptr) << "the worker is not asked again";
  ASSERT_NE(job.state.find_work(ActivitySeq(2)), nullptr);
  job.work(2);
  EXPECT_EQ(job.state.job.status, JobStatus::completed);
  job.ask(GiveAnswer{ActivitySeq(1), 200, "late"});
  job.run();
  EXPECT_EQ(job.state.find(ActivitySeq(1))->output.str(), "given");
}

INSTANTIATE_TEST_SUITE_P(fusion, CarriedAnswers, testing::Values(Fusion::on, Fusion::off),
                         [](const auto& one) { return one.param == Fusion::on ? "fused" : "alone"; });

TEST_P(CarriedAnswers, a_trace_goes_to_the_work_of_the_job) {
  const Graph graph = *TestGraph("traced").trigger("t").worker("a", "topic").after("t").build();
  TestJob job(graph, GetParam());
  job.inbox.clear();
  job.queue.clear();
  job.deliver_stored(start_message(job.state.job.run, pack({Payload("in"), {}, {}, "00-trace"})));
  job.run();
  const WorkItem* item = job.state.find_work(ActivitySeq(1));
  ASSERT_NE(item, nullptr);
  EXPECT_EQ(item->life.trace, "00-trace");
  EXPECT_EQ(item->input.str(), "in");
}

TEST(StartInput, is_packed_only_with_something_to_carry) {
  EXPECT_EQ(pack({Payload("{}")}).str(), "{}");
  Carried carried;
  carried.node = 3;
  carried.data = "x";
  carried.child = "kid";
  const Payload packed = pack({Payload("in"), {carried}});
  EXPECT_TRUE(is_packed(packed.view()));
  const auto start = unpack_start(packed);
  ASSERT_TRUE(start);
  EXPECT_EQ(start->input.str(), "in");
  ASSERT_EQ(start->carried.size(), 1u);
  EXPECT_EQ(start->carried[0], carried);
  EXPECT_FALSE(unpack_start(Payload(packed.str().substr(0, packed.size() - 1)))) << "cut";
}

}  // namespace

}  // namespace pawl::core
