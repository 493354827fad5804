// Mending after an outage: failed jobs go on from what failed, many at a time; a new job from an old one.
#include <atomic>
#include <map>
#include <mutex>

#include "life_test.h"

namespace pawl {
namespace {

using namespace testing;

class MendTest : public LifeTest {
 protected:
  // one -> two; `two` fails while the outage lasts.
  void SetUp() override {
    runtime = start_runtime(options(), [this](Work& work) {
      const std::lock_guard lock(mutex);
      const std::string input = work.input().str();
      const bool second = input.ends_with("+");
      ++calls[input];
      keys[input].push_back(work.key());
      if (second && outage) return Reply::fatal("\"connection refused by 10.0.0.17\"", 503);
      return echo(work);
    });
  }
  int called(const std::string& input) {
    const std::lock_guard lock(mutex);
    return calls[input];
  }
  RunId start(const std::string& id) {
    const auto job = runtime->start("chain", Payload(id), {.id = id});
    EXPECT_TRUE(job.ok());
    return job ? job->run() : RunId(0);
  }
  std::mutex mutex;
  std::map<std::string, int> calls;
  std::map<std::string, std::vector<std::string>> keys;
  std::atomic<bool> outage{true};
};

TEST_P(MendTest, a_failed_job_goes_on_from_what_failed) {
  const RunId run = start("a");
  ASSERT_EQ(end_of(*runtime, run).status, JobStatus::failed);
  outage = false;
  const auto going = runtime->job(run).redrive();
  ASSERT_TRUE(going.ok()) << to_string(going.error());
  EXPECT_NE(going->run(), run);
  const JobView end = end_of(*runtime, going->run());
  EXPECT_EQ(end.status, JobStatus::completed);
  EXPECT_EQ(end.id.raw(), "a");
  EXPECT_EQ(end.result.str(), "a++");
  EXPECT_EQ(called("a"), 1) << "what was answered is not asked again";
  EXPECT_EQ(called("a+"), 2);
  EXPECT_EQ(keys["a+"][0], keys["a+"][1]) << "it is the same piece of work, by its key";
  EXPECT_TRUE(fails_with(runtime->job(run).view(), ErrorCode::not_found, {})) << "the new run takes its place";
  EXPECT_EQ((*runtime->find("a"))->run(), going->run());
  const auto detail = going->inspect();
  ASSERT_TRUE(detail.ok());
  EXPECT_EQ(detail->input.str(), "a");
  EXPECT_TRUE(detail->activities[1].carried);
  EXPECT_FALSE(detail->activities[2].carried);
  ASSERT_EQ(detail->earlier.size(), 1u);
  EXPECT_EQ(detail->earlier[0].run, run);
  EXPECT_EQ(detail->earlier[0].code, 503);
  EXPECT_TRUE(fails_with(runtime->job(run).redrive(), ErrorCode::not_found, {}));
  EXPECT_TRUE(fails_with(going->redrive(), ErrorCode::invalid, {"completed"}));
}

TEST_P(MendTest, a_job_that_fails_again_can_be_redriven_again) {
  RunId run = start("a");
  for (int i = 0; i < 3; ++i) {
    ASSERT_EQ(end_of(*runtime, run).status, JobStatus::failed);
    const auto going = runtime->job(run).redrive();
    ASSERT_TRUE(going.ok()) << to_string(going.error());
    run = going->run();
  }
  ASSERT_EQ(end_of(*runtime, run).status, JobStatus::failed);
  outage = false;
  const auto going = runtime->job(run).redrive();
  ASSERT_TRUE(going.ok());
  EXPECT_EQ(end_of(*runtime, going->run()).result.str(), "a++");
  EXPECT_EQ(called("a"), 1);
  EXPECT_EQ(going->inspect()->earlier.size(), 4u);
  for (const std::string& key : keys["a+"]) EXPECT_EQ(key, keys["a+"].front());
}

TEST_P(MendTest, many_jobs_are_asked_in_one_call) {
  constexpr int count = 40;
  std::vector<RunId> runs;
  for (int i = 0; i < count; ++i) runs.push_back(start("job" + std::to_string(i)));
  for (const RunId run : runs) ASSERT_EQ(end_of(*runtime, run).status, JobStatus::failed);
  JobFilter filter;
  filter.error = "CONNECTION refused";
  filter.code = 503;
  filter.activity = "two";
  ASSERT_EQ(*runtime->count(filter), static_cast<std::uint64_t>(count));
  filter.since = Instant::from_micros(4'000'000'000'000'000);  // far in the future
  EXPECT_EQ(*runtime->count(filter), 0u);
  filter.since = Instant();
  const auto dry = runtime->bulk(filter, {.verb = BulkVerb::redrive}, {.dry_run = true});
  ASSERT_TRUE(dry.ok()) << to_string(dry.error());
  EXPECT_EQ(dry->matched, static_cast<std::uint64_t>(count));
  EXPECT_EQ(dry->done, static_cast<std::uint64_t>(count));
  EXPECT_EQ(dry->first.size(), 10u);
  EXPECT_EQ(*runtime->count({.status = JobStatus::failed}), static_cast<std::uint64_t>(count)) << "nothing was done";
  outage = false;
  std::uint64_t seen = 0;
  BulkOptions options;
  options.progress = [&](std::uint64_t now, std::uint64_t all) {
    seen = now;
    EXPECT_EQ(all, static_cast<std::uint64_t>(count));
  };
  const auto done = runtime->bulk(filter, {.verb = BulkVerb::redrive}, options);
  ASSERT_TRUE(done.ok()) << to_string(done.error());
  EXPECT_EQ(done->done, static_cast<std::uint64_t>(count));
  EXPECT_TRUE(done->refused.empty());
  EXPECT_EQ(seen, static_cast<std::uint64_t>(count));
  ASSERT_TRUE(comes_true([&] { return *runtime->count({.status = JobStatus::completed}) == count; }));
  EXPECT_EQ(*runtime->count({.status = JobStatus::failed}), 0u);
  const auto again = runtime->bulk({.status = JobStatus::completed}, {.verb = BulkVerb::redrive});
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(again->done, 0u);
  ASSERT_EQ(again->refused.size(), 1u) << "one reason, whatever the jobs are called";
  EXPECT_EQ(again->refused[0].jobs, static_cast<std::uint64_t>(count));
  // Step by step, a job has ended one commit before its last step is done; then it can be removed.
  std::uint64_t removed = 0;
  EXPECT_TRUE(comes_true([&] {
    const auto some = runtime->bulk({.status = JobStatus::completed}, {.verb = BulkVerb::remove});
    removed += some ? some->done : 0;
    return removed == count;
  }));
  EXPECT_EQ(*runtime->count({}), 0u);
}

TEST_P(MendTest, a_new_job_begins_from_the_input_or_from_the_middle_of_another) {
  const RunId run = start("a");
  ASSERT_EQ(end_of(*runtime, run).status, JobStatus::failed);
  outage = false;
  const auto whole = runtime->job(run).rerun();
  ASSERT_TRUE(whole.ok()) << to_string(whole.error());
  EXPECT_EQ(whole->id(), "a.again1");
  EXPECT_EQ(end_of(*runtime, whole->run()).result.str(), "a++");
  EXPECT_EQ(called("a"), 2) << "everything is asked again";
  const auto middle = runtime->job(whole->run()).rerun({.id = "b", .from = "two"});
  ASSERT_TRUE(middle.ok()) << to_string(middle.error());
  EXPECT_EQ(end_of(*runtime, middle->run()).result.str(), "a++");
  EXPECT_EQ(called("a"), 2) << "what came before is not";
  EXPECT_EQ(called("a+"), 3);
  EXPECT_NE(keys["a+"][2], keys["a+"][1]) << "a new job does its work anew";
  const auto other = runtime->job(run).rerun({.id = "c", .input = Payload("z")});
  ASSERT_TRUE(other.ok());
  EXPECT_EQ(end_of(*runtime, other->run()).result.str(), "z++");
  EXPECT_TRUE(fails_with(runtime->job(run).rerun({.id = "b"}), ErrorCode::already_exists, {"b"}));
  const Payload forged(std::string("\0pawl start 1\0x", 15));
  EXPECT_TRUE(fails_with(runtime->job(run).rerun({.id = "d", .input = forged}), ErrorCode::invalid, {"the input"}));
  EXPECT_TRUE(fails_with(runtime->job(run).rerun({.from = "three"}), ErrorCode::invalid, {"three", "one", "two"}));
}

TEST_P(MendTest, a_survey_counts_jobs_errors_and_work) {
  for (const char* id : {"a", "b"}) ASSERT_EQ(end_of(*runtime, start(id)).status, JobStatus::failed);
  outage = false;
  ASSERT_EQ(end_of(*runtime, start("c")).status, JobStatus::completed);
  const auto survey = runtime->survey();
  ASSERT_TRUE(survey.ok()) << to_string(survey.error());
  EXPECT_TRUE(survey->owner_alive);
  EXPECT_EQ(survey->of(JobStatus::failed), 2u);
  EXPECT_EQ(survey->of(JobStatus::completed), 1u);
  ASSERT_EQ(survey->graphs.size(), 1u);
  EXPECT_EQ(survey->graphs[0].of(JobStatus::failed), 2u);
  ASSERT_EQ(survey->errors.size(), 1u) << "they differ in nothing but a number";
  EXPECT_EQ(survey->errors[0].jobs, 2u);
  EXPECT_EQ(survey->errors[0].code, 503);
  EXPECT_NE(survey->errors[0].text.find("connection refused"), std::string::npos);
  EXPECT_TRUE(*runtime->has_owner());
}

INSTANTIATE_TEST_SUITE_P(store, MendTest, every_setting, setting_name);

}  // namespace
}  // namespace pawl
