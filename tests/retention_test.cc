// Rules of retention: which jobs they mean, how they are kept in the store, and who carries them out.
#include <set>

#include "life_test.h"

namespace pawl {
namespace {

using namespace testing;
using std::chrono::hours;

class RetentionTest : public LifeTest {
 protected:
  void SetUp() override {
    runtime = start_runtime(options(), [](Work& work) {
      return work.input().str().starts_with("bad") ? Reply::fatal("\"no\"", 500) : echo(work);
    });
    ASSERT_NE(runtime, nullptr);
    EXPECT_TRUE(runtime->deploy(step_graph()).ok());
  }
  void run(const std::string& graph, const std::string& id, StartOptions start = {}) {
    start.id = id;
    const auto job = runtime->start(graph, Payload(id), start);
    ASSERT_TRUE(job.ok()) << to_string(job.error());
    ASSERT_TRUE(job->wait(20s).ok());
  }
  std::set<std::string> ids() {
    std::set<std::string> found;
    const auto jobs = runtime->list({});
    EXPECT_TRUE(jobs.ok());
    if (jobs)
      for (const JobView& job : *jobs) found.insert(job.id.raw());
    return found;
  }
  RetentionSummary apply(bool dry_run = false) {
    const auto done = runtime->apply_retention({.dry_run = dry_run});
    EXPECT_TRUE(done.ok()) << to_string(done.error());
    return done ? *done : RetentionSummary();
  }
  GraphName name_of_graph(const std::string& id) { return (*runtime->find(id))->view()->graph; }
};
using Ids = std::set<std::string>;

TEST_P(RetentionTest, the_rule_that_fits_best_counts) {
  run("chain", "good");
  run("chain", "bad");
  run("step", "other");
  run("step", "bad-other");
  run("chain", "own", {.keep = hours(1)});
  EXPECT_EQ(apply().removed, 0u) << "without a rule all stay";
  const std::string step = name_of_graph("other").raw();
  ASSERT_TRUE(runtime->set_retention({.keep = Duration(0)}).ok());
  ASSERT_TRUE(runtime->set_retention({.status = JobStatus::failed, .keep = std::nullopt}).ok());
  ASSERT_TRUE(runtime->set_retention({.graph = step, .keep = hours(24)}).ok());
  EXPECT_EQ(apply(true).removed, 1u);
  EXPECT_EQ(ids().size(), 5u) << "a dry run removes nothing";
  EXPECT_EQ(apply().removed, 1u);
  EXPECT_EQ(ids(), (Ids{"bad", "other", "bad-other", "own"}));
  ASSERT_TRUE(runtime->set_retention({.status = JobStatus::failed, .graph = step, .keep = Duration(0)}).ok());
  EXPECT_EQ(apply().removed, 1u);
  EXPECT_EQ(ids(), (Ids{"bad", "other", "own"}));
  ASSERT_TRUE(runtime->drop_retention({.status = JobStatus::failed}).ok());
  EXPECT_EQ(apply().removed, 1u);
  EXPECT_EQ(ids(), (Ids{"other", "own"}));
}

TEST_P(RetentionTest, rules_are_listed_changed_and_dropped) {
  EXPECT_TRUE(runtime->retention()->empty());
  ASSERT_TRUE(runtime->set_retention({.status = JobStatus::completed, .keep = hours(1)}).ok());
  ASSERT_TRUE(runtime->set_retention({.status = JobStatus::completed, .keep = hours(2)}).ok());
  ASSERT_TRUE(runtime->set_retention({.graph = "chain", .keep = std::nullopt}).ok());
  const auto rules = runtime->retention();
  ASSERT_TRUE(rules.ok());
  ASSERT_EQ(rules->size(), 2u);
  for (const RetentionRule& rule : *rules) {
    EXPECT_NE(rule.set_at, Instant());
    if (rule.status)
      EXPECT_EQ(rule.keep, Duration(hours(2)));
    else
      EXPECT_FALSE(rule.keep.has_value());
  }
  ASSERT_TRUE(runtime->drop_retention({.graph = "chain"}).ok());
  EXPECT_TRUE(fails_with(runtime->drop_retention({.graph = "chain"}), ErrorCode::not_found, {"chain"}));
  EXPECT_EQ(runtime->retention()->size(), 1u);
  ASSERT_TRUE(runtime->set_retention({.graph = "chain", .keep = hours(3)}).ok()) << "it may come back";
  EXPECT_EQ(runtime->retention()->size(), 2u);
  EXPECT_TRUE(fails_with(runtime->set_retention({.status = JobStatus::running, .keep = hours(1)}), ErrorCode::invalid,
                         {"running"}));
  EXPECT_TRUE(fails_with(runtime->set_retention({.keep = -hours(1)}), ErrorCode::invalid, {"keep"}));
  EXPECT_EQ(runtime->apps()->size(), 2u) << "a rule is no app";
}

// More than a batch and more than a page; open jobs stay.
TEST_P(RetentionTest, whoever_runs_the_jobs_carries_the_rules_out) {
  std::vector<StartItem<Payload>> many;
  for (int i = 0; i < 250; ++i) many.push_back({Payload("x"), {.id = "job" + std::to_string(i)}});
  for (const auto& job : runtime->start_many("chain", many)) ASSERT_TRUE(job.ok());
  ASSERT_TRUE(comes_true([&] { return *runtime->count({.status = JobStatus::completed}) == 250; }));
  ASSERT_TRUE(runtime->pause_topic("work").ok());
  ASSERT_TRUE(runtime->start("chain", Payload("x"), {.id = "open"}).ok());
  ASSERT_TRUE(runtime->set_retention({.status = JobStatus::completed, .keep = Duration(0)}).ok());
  EXPECT_TRUE(comes_true([&] { return ids() == Ids{"open"}; }));
  // Its id stays taken, so that a late duplicate of its start does not start it again.
  const auto late = runtime->start("chain", Payload("x"), {.id = "job1"});
  EXPECT_TRUE(!late.ok() || !late->created());
  ASSERT_TRUE(runtime->resume_topic("work").ok());
}

INSTANTIATE_TEST_SUITE_P(store, RetentionTest, every_store, setting_name);

}  // namespace
}  // namespace pawl
