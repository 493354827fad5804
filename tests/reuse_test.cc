// What happens when a taken job id is submitted again.
#include <atomic>

#include "life_test.h"

namespace pawl {
namespace {

using namespace testing;

class ReuseTest : public LifeTest {
 protected:
  Result<Job<>> submit(IdReuse reuse, Payload input = "again") {
    return runtime->start("step", input, {.id = "j", .reuse = reuse});
  }
  // A worker whose reply to "hang" comes when it is no longer needed.
  static Reply hang(Work& work) {
    while (work.input().str() == "hang" && !work.cancelled()) std::this_thread::sleep_for(1ms);
    return echo(work);
  }
};

TEST_P(ReuseTest, attach_answers_with_the_job_that_has_the_id_open_or_ended) {
  runtime = start_with(options(), step_graph(), echo);
  const RunId run = submit_step(*runtime);
  for (int i = 0; i < 2; ++i) {
    const auto again = submit(IdReuse::attach);
    ASSERT_TRUE(again.ok());
    EXPECT_FALSE(again->created());
    EXPECT_EQ(again->run(), run);
    end_of(*runtime, run);
  }
}

TEST_P(ReuseTest, reject_is_an_error_that_names_the_run_that_has_the_id) {
  runtime = start_with(options(), step_graph(), echo);
  const auto first = submit(IdReuse::reject, "x");
  ASSERT_TRUE(first.ok());
  EXPECT_TRUE(first->created());
  end_of(*runtime, first->run());
  EXPECT_TRUE(fails_with(submit(IdReuse::reject), ErrorCode::already_exists,
                         {"job id j", "run " + std::to_string(first->run().raw())}));
}

TEST_P(ReuseTest, after_close_attaches_to_an_open_job_and_begins_anew_once_it_has_ended) {
  runtime = start_with(options(), step_graph(), hang);
  const RunId first = submit_step(*runtime, "j", "hang");
  const auto open = submit(IdReuse::after_close);
  ASSERT_TRUE(open.ok());
  EXPECT_FALSE(open->created());
  EXPECT_EQ(open->run(), first);
  ASSERT_TRUE(runtime->job(first).interrupt().ok());
  end_of(*runtime, first);
  const auto anew = submit(IdReuse::after_close, "new");
  ASSERT_TRUE(anew.ok());
  EXPECT_TRUE(anew->created());
  EXPECT_NE(anew->run(), first);
  EXPECT_EQ(end_of(*runtime, anew->run()).result.str(), "new+");
  EXPECT_EQ((*runtime->find("j"))->run(), anew->run());
  EXPECT_EQ(status_of(*runtime, first), JobStatus::interrupted) << "the earlier life stays to be seen";
}

TEST_P(ReuseTest, replace_interrupts_an_open_job_and_begins_anew) {
  runtime = start_with(options(), step_graph(), hang);
  const RunId first = submit_step(*runtime, "j", "hang");
  const auto anew = submit(IdReuse::replace, "new");
  ASSERT_TRUE(anew.ok());
  EXPECT_TRUE(anew->created());
  EXPECT_NE(anew->run(), first);
  EXPECT_EQ(end_of(*runtime, first).status, JobStatus::interrupted);
  EXPECT_EQ(end_of(*runtime, anew->run()).result.str(), "new+");
  const auto third = submit(IdReuse::replace, "newest");
  ASSERT_TRUE(third.ok());
  EXPECT_TRUE(third->created());
  EXPECT_EQ(end_of(*runtime, third->run()).result.str(), "newest+");
  EXPECT_EQ(status_of(*runtime, anew->run()), JobStatus::completed) << "what had ended is left alone";
}

TEST_P(ReuseTest, fields_that_no_job_can_have_are_refused_by_name) {
  runtime = start_with(options(), step_graph(), echo);
  const auto refused = [&](StartOptions options, ErrorCode code, const std::string& field) {
    options.id = "j";
    return fails_with(runtime->start("step", Payload(), options), code, {field});
  };
  EXPECT_TRUE(refused({.delay = -1us}, ErrorCode::invalid, "delay"));
  EXPECT_TRUE(refused({.end_within = -1us}, ErrorCode::invalid, "end_within"));
  EXPECT_TRUE(refused({.keep = -1us}, ErrorCode::invalid, "keep"));
  constexpr Duration too_long = std::chrono::hours(24 * 365 * 101);
  EXPECT_TRUE(refused({.delay = too_long}, ErrorCode::over_limit, "delay"));
  EXPECT_TRUE(refused({.end_within = too_long}, ErrorCode::over_limit, "end_within"));
  EXPECT_TRUE(refused({.keep = too_long}, ErrorCode::over_limit, "keep"));
  EXPECT_TRUE(refused({.priority = 1'000'001}, ErrorCode::invalid, "priority"));
  EXPECT_TRUE(refused({.priority = -1'000'001}, ErrorCode::invalid, "priority"));
  EXPECT_FALSE(runtime->find("j")->has_value());
}

INSTANTIATE_TEST_SUITE_P(store, ReuseTest, every_setting, setting_name);

}  // namespace
}  // namespace pawl
