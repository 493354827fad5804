// Searching jobs by the state of their activities.
#include <pthread.h>

#include "life_test.h"

namespace pawl {
namespace {

using namespace testing;

class PatternTest : public LifeTest {
 protected:
  using Where = std::vector<std::pair<std::string, std::string>>;

  // good: both completed. bad: one errored. stuck: one started. held: one paused.
  void SetUp() override {
    runtime = start_runtime(options(), [this](Work& work) {
      if (work.input().str() == "bad") return Reply::error("\"no\"");
      if (work.input().str() == "stuck") gate.pass();
      return echo(work);
    });
    for (const char* id : {"good", "bad", "stuck", "held"}) {
      if (std::string(id) == "held") {
        // A paused topic hands out nothing, so jobs that should end must end first.
        end_of(*runtime, runs[0]);
        end_of(*runtime, runs[1]);
        ASSERT_TRUE(comes_true([&] {
          const auto stuck = runtime->job(runs[2]).inspect();
          return stuck && stuck->activities.size() == 2 && stuck->activities[1].effect == Effect::started;
        }));
        ASSERT_TRUE(runtime->pause_topic("work").ok());
      }
      const auto job = runtime->start("chain", Payload(id), {.id = id});
      ASSERT_TRUE(job.ok());
      runs.push_back(job->run());
    }
    // A pause takes effect between any two steps: wait until the job has reached its work.
    ASSERT_TRUE(comes_true([&] { return runtime->job(runs[3]).inspect()->activities.size() == 2; }));
    ASSERT_TRUE(runtime->job(runs[3]).pause().ok());
    ASSERT_TRUE(comes_true([&] { return status_of(*runtime, runs[3]) == JobStatus::paused; }));
    ASSERT_TRUE(comes_true([&] { return runtime->job(runs[2]).inspect()->activities.size() == 2; }));
  }
  void TearDown() override { gate.open(); }

  std::vector<std::string> found(const Where& where, std::uint32_t rows_max = 100, const std::string& after = "") {
    JobFilter filter;
    filter.graph = "chain";
    filter.where = where;
    filter.rows_max = rows_max;
    filter.after = after;
    const auto jobs = runtime->list(filter);
    if (!jobs) return {to_string(jobs.error())};
    std::vector<std::string> ids;
    for (const JobView& job : *jobs) {
      ids.push_back(job.id.raw());
      last = job.cursor;
    }
    return ids;
  }
  using Ids = std::vector<std::string>;
  Gate gate;
  std::vector<RunId> runs;
  std::string last;  // the cursor of the last one found
};

TEST_P(PatternTest, an_activity_is_asked_for_by_word_or_by_digit) {
  EXPECT_EQ(found({{"one", "errored"}}), Ids{"bad"});
  EXPECT_EQ(found({{"one", "7"}}), Ids{"bad"});
  EXPECT_EQ(found({{"one", "started"}}), Ids{"stuck"});
  EXPECT_EQ(found({{"one", "paused"}}), Ids{"held"});
  EXPECT_EQ(found({{"two", "completed"}}), Ids{"good"});
  EXPECT_EQ(found({{"two", "skipped"}}), Ids{"bad"});
  EXPECT_EQ(found({{"t", "completed"}}), (Ids{"good", "bad", "stuck", "held"}));
  EXPECT_EQ(found({}), (Ids{"good", "bad", "stuck", "held"}));
}

TEST_P(PatternTest, several_activities_must_all_stand_as_asked) {
  EXPECT_EQ(found({{"one", "completed"}, {"two", "completed"}}), Ids{"good"});
  EXPECT_EQ(found({{"one", "completed"}, {"two", "pending"}}), Ids{});
  EXPECT_EQ(found({{"one", "started"}, {"one", "paused"}}), Ids{});
}

TEST_P(PatternTest, a_search_is_paged_on_with_the_last_run_seen) {
  EXPECT_EQ(found({{"t", "6"}}, 2), (Ids{"good", "bad"}));
  EXPECT_EQ(found({{"t", "6"}}, 2, last), (Ids{"stuck", "held"}));
  EXPECT_EQ(found({{"t", "6"}}, 0), Ids{});
}

TEST_P(PatternTest, a_search_joins_the_other_filters) {
  JobFilter filter;
  filter.graph = "chain";
  filter.where = {{"t", "completed"}};
  filter.status = JobStatus::failed;
  ASSERT_TRUE(runtime->list(filter).ok());
  ASSERT_EQ(runtime->list(filter)->size(), 1u);
  EXPECT_EQ(runtime->list(filter)->front().id.raw(), "bad");
  filter.graph = "no_such_graph";
  filter.where.clear();
  EXPECT_TRUE(runtime->list(filter)->empty());
}

TEST_P(PatternTest, a_question_that_makes_no_sense_is_refused_and_names_what_does) {
  JobFilter filter;
  filter.graph = "chain";
  filter.where = {{"three", "errored"}};
  EXPECT_TRUE(fails_with(runtime->list(filter), ErrorCode::invalid, {"no activity three", "one, t, two"}));
  filter.where = {{"one", "broken"}};
  EXPECT_TRUE(fails_with(runtime->list(filter), ErrorCode::invalid, {"\"broken\"", "errored or 7", "pending or 9"}));
  filter.where = {{"one", "2"}};
  EXPECT_TRUE(fails_with(runtime->list(filter), ErrorCode::invalid, {"\"2\" is no state"}));
  filter.where = {{"one", "errored"}};
  filter.graph = "other";
  EXPECT_TRUE(fails_with(runtime->list(filter), ErrorCode::not_found, {"no graph named other"}));
  filter.graph = "";  // of every graph that has such an activity
  ASSERT_TRUE(runtime->list(filter).ok());
  EXPECT_EQ(runtime->list(filter)->size(), 1u);
  filter.where = {{"three", "errored"}};
  EXPECT_TRUE(fails_with(runtime->list(filter), ErrorCode::invalid, {"no graph has an activity three"}));
}

INSTANTIATE_TEST_SUITE_P(store, PatternTest, every_setting, setting_name);

void on_small_stack(std::function<void()> call) {
  pthread_attr_t small;
  pthread_attr_init(&small);
  pthread_attr_setstacksize(&small, 512u << 10);
  const auto run = [](void* what) -> void* { return (*static_cast<std::function<void()>*>(what))(), nullptr; };
  pthread_t thread{};
  ASSERT_EQ(pthread_create(&thread, &small, run, &call), 0);
  pthread_join(thread, nullptr);
  pthread_attr_destroy(&small);
}

TEST(LongGraph, the_key_of_a_chain_of_10000_steps_is_made_without_overflowing_the_stack) {
  GraphBuilder builder("long");
  builder.trigger("a0");
  for (int i = 1; i < 10'000; ++i) builder.worker("a" + std::to_string(i), "work").after("a" + std::to_string(i - 1));
  auto graph = builder.build();
  ASSERT_TRUE(graph.ok()) << to_string(graph.error());
  auto runtime = start_with({.store = ":memory:"}, std::move(*graph), nullptr);
  const auto job = runtime->start("long", Payload(), {.id = "j"});
  ASSERT_TRUE(job.ok());
  ASSERT_TRUE(comes_true([&] { return job->inspect()->activities.size() == 2; }));
  std::string key;
  on_small_stack([&] { key = job->inspect()->collation_key; });
  EXPECT_EQ(key.size(), 10'000u);
  EXPECT_EQ(key.substr(0, 2), "68");
}

}  // namespace
}  // namespace pawl
