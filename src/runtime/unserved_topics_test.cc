// Topics that no worker serves: what an engine reports, and when.
#include "runtime/unserved_topics.h"

#include "runtime/engine_bench.h"

namespace pawl::runtime {
namespace {

class UnservedTopicsTest : public ::testing::Test {
 protected:
  UnservedTopicsTest() {
    bench_.deploy(GraphBuilder("other").trigger("t").worker("a", "elsewhere").after("t").build());
  }
  void submit(const std::string& id) {
    bench_.submit(id, "other");
    bench_.settle();
  }
  std::size_t said() const { return bench_.events.problems.size(); }
  Bench bench_{core::Fusion::on, "e1", 1, std::chrono::hours(24)};  // it keeps its lanes
};

TEST_F(UnservedTopicsTest, is_said_when_work_has_waited_long_enough) {
  submit("first");
  bench_.wait(limits::unserved_after - std::chrono::milliseconds(1));
  EXPECT_EQ(said(), 0u);
  bench_.wait(std::chrono::milliseconds(1));
  ASSERT_EQ(said(), 1u);
  EXPECT_NE(bench_.events.problems[0].find("nobody serves topic elsewhere in this process: work of job first"),
            std::string::npos)
      << bench_.events.problems[0];
  for (int i = 0; i < 50; ++i) submit(std::to_string(i));
  bench_.wait(10 * limits::unserved_after);
  EXPECT_EQ(said(), 1u) << "once";
}

TEST_F(UnservedTopicsTest, wakes_for_it_and_for_nothing_after_it) {
  submit("first");
  const auto wake = bench_.engine->next_wake();
  ASSERT_TRUE(wake);
  bench_.wait(limits::unserved_after);
  ASSERT_EQ(said(), 1u);
}

TEST_F(UnservedTopicsTest, a_worker_that_comes_in_time_is_no_problem) {
  submit("first");
  bench_.wait(limits::unserved_after / 2);
  bench_.engine->serve(Topic("elsewhere"));
  bench_.wait(limits::unserved_after);
  EXPECT_EQ(bench_.events.work.size(), 1u);
  EXPECT_EQ(said(), 0u);
}

TEST_F(UnservedTopicsTest, a_job_that_ended_hides_no_other_one) {
  submit("first");
  submit("second");
  bench_.ask("first", core::Interrupt{});
  bench_.wait(limits::unserved_after);
  bench_.wait(std::chrono::milliseconds(1));
  ASSERT_EQ(said(), 1u);
  EXPECT_NE(bench_.events.problems[0].find("work of job second"), std::string::npos) << bench_.events.problems[0];
}

TEST_F(UnservedTopicsTest, a_job_that_ended_is_no_problem) {
  submit("first");
  bench_.ask("first", core::Interrupt{});
  bench_.wait(2 * limits::unserved_after);
  EXPECT_EQ(said(), 0u);
}

TEST_F(UnservedTopicsTest, an_engine_that_finds_such_work_says_it_too) {
  submit("first");
  bench_.engine->stop();
  bench_.engine->release_lanes();
  bench_.settle();
  bench_.boot(core::Fusion::on, "e2", 2);
  bench_.settle();
  bench_.wait(std::chrono::milliseconds(1));
  bench_.wait(limits::unserved_after);
  EXPECT_EQ(said(), 1u);
}

}  // namespace
}  // namespace pawl::runtime
