// Hooks with `escalation` are tasks for people: listed, claimed, resolved, and gone when their hook times out.
#include <atomic>
#include <thread>

#include "life_test.h"

namespace pawl {
namespace {

using namespace testing;

constexpr const char* help = R"(
app:
  id: help
  version: "1"
  graphs:
    - subscribes: help.asked
      activities:
        asked: {type: trigger}
        answer:
          type: hook
          hook: {type: object, required: [ok]}
          escalation: {role: "{asked.output.data.role}", type: question, priority: 2, description: "{asked.output.data.text}", metadata: {n: 1}}
          job: {maps: {ok: "{$self.hook.data.ok}"}}
      transitions: {asked: [{to: answer}]}
      hooks:
        help.answered: [{to: answer, conditions: {match: [{expected: "all", actual: "{$self.hook.data.to}"}]}}]
    - subscribes: help.soon
      activities:
        soon: {type: trigger}
        nap: {type: hook, sleep: 2, escalation: {role: night}}
      transitions: {soon: [{to: nap}]}
    - subscribes: help.nobody
      activities:
        nobody: {type: trigger}
        wait: {type: hook, sleep: 1h, escalation: {description: "no role, no type"}}
      transitions: {nobody: [{to: wait}]}
)";

class TasksTest : public LifeTest {
 protected:
  void SetUp() override {
    runtime = start_with(options(), AppText{help}, echo);
    ASSERT_NE(runtime, nullptr);
  }
  RunId start(const std::string& topic, const std::string& id, const std::string& role = "support") {
    const auto job =
        runtime->start(topic, Payload(R"({"role":")" + role + R"(","text":"may I?"})"), StartOptions{.id = id});
    EXPECT_TRUE(job.ok()) << to_string(job.error());
    return job ? job->run() : RunId(0);
  }
  std::vector<Task> tasks(const TaskFilter& filter = {}) {
    const auto found = runtime->tasks(filter);
    EXPECT_TRUE(found.ok()) << to_string(found.error());
    return found ? *found : std::vector<Task>();
  }
  bool comes_to(std::size_t count) {
    return comes_true([&] { return tasks().size() == count; });
  }
};

TEST_P(TasksTest, are_listed_while_their_hooks_wait) {
  for (int i = 0; i < 5; ++i) start("help.asked", "j" + std::to_string(i), i == 3 ? "boss" : "support");
  start("help.nobody", "none");
  ASSERT_TRUE(comes_to(5));
  const auto boss = tasks({.role = "boss"});
  ASSERT_EQ(boss.size(), 1u);
  const Task& task = boss[0];
  EXPECT_EQ(task.job.raw(), "j3");
  EXPECT_EQ(task.activity, "answer");
  EXPECT_EQ(task.type, "question");
  EXPECT_EQ(task.priority, 2);
  EXPECT_EQ(task.description, "may I?");
  EXPECT_EQ(task.times_out_at, Instant());
  EXPECT_NE(task.fields.str().find(R"("metadata":{"n":1})"), std::string::npos) << task.fields.str();
  EXPECT_EQ(tasks({.job = "j1"}).size(), 1u);
  EXPECT_TRUE(tasks({.type = "other"}).empty());
  EXPECT_TRUE(tasks({.name_space = "elsewhere"}).empty());
  std::vector<std::string> paged;
  TaskFilter filter;
  filter.rows_max = 2;
  for (;;) {
    const auto page = tasks(filter);
    for (const Task& one : page) paged.push_back(one.id);
    if (page.size() < 2) break;
    filter.after = page.back().cursor;
  }
  std::vector<std::string> whole;
  for (const Task& one : tasks()) whole.push_back(one.id);
  EXPECT_EQ(paged, whole);
  ASSERT_TRUE(runtime->find("j1").ok());
  ASSERT_TRUE((*runtime->find("j1"))->interrupt().ok());
  EXPECT_TRUE(comes_to(4)) << "the task of a job that ended is gone";
}

// All of them wait for the same signal: a resolution is for one alone.
TEST_P(TasksTest, a_resolved_task_lets_its_own_hook_go_on) {
  const RunId a = start("help.asked", "a");
  const RunId b = start("help.asked", "b");
  ASSERT_TRUE(comes_to(2));
  const std::string id = tasks({.job = "b"})[0].id;
  EXPECT_TRUE(fails_with(runtime->resolve_task(id, Payload(R"({"no":1})")), ErrorCode::invalid, {"ok"}));
  ASSERT_TRUE(runtime->resolve_task(id, Payload(R"({"ok":true})")).ok());
  EXPECT_EQ(end_of(*runtime, b).result.str(), R"({"ok":true})");
  EXPECT_EQ(status_of(*runtime, a), JobStatus::running);
  EXPECT_TRUE(fails_with(runtime->resolve_task(id, Payload(R"({"ok":true})")), ErrorCode::not_found, {id}));
  EXPECT_TRUE(fails_with(runtime->resolve_task("x", Payload("{}")), ErrorCode::invalid, {"pawl tasks"}));
  // The registration of the one that was resolved is gone: the signal is for the other.
  ASSERT_TRUE(runtime->signal("help.answered", Payload(R"({"to":"all","ok":false})")).ok());
  EXPECT_EQ(end_of(*runtime, a).result.str(), R"({"ok":false})");
  EXPECT_TRUE(runtime->kept_signals()->empty());
}

TEST_P(TasksTest, a_claim_keeps_others_away_until_its_time_is_over) {
  const RunId run = start("help.asked", "a");
  ASSERT_TRUE(comes_to(1));
  const std::string id = tasks()[0].id;
  ASSERT_TRUE(runtime->claim_task(id, "ann", 1h).ok());
  EXPECT_TRUE(fails_with(runtime->claim_task(id, "bob"), ErrorCode::conflict, {"ann"}));
  ASSERT_TRUE(runtime->claim_task(id, "ann", 2h).ok()) << "for longer";
  const Task task = tasks()[0];
  EXPECT_EQ(task.claimed_by, "ann");
  EXPECT_GT(task.claimed_until, task.opened_at + Duration(90min));
  EXPECT_EQ(tasks({.claimed_by = "ann"}).size(), 1u);
  EXPECT_TRUE(tasks({.unclaimed = true}).empty());
  EXPECT_TRUE(runtime->kept_signals()->empty()) << "a claim is no signal for a hook";
  EXPECT_TRUE(
      fails_with(runtime->resolve_task(id, Payload(R"({"ok":1})"), {.who = "bob"}), ErrorCode::conflict, {"ann"}));
  EXPECT_TRUE(fails_with(runtime->release_task(id, "bob"), ErrorCode::conflict, {"ann"}));
  ASSERT_TRUE(runtime->release_task(id, "ann").ok());
  EXPECT_EQ(tasks({.unclaimed = true}).size(), 1u);
  ASSERT_TRUE(runtime->claim_task(id, "bob", 300ms).ok());
  EXPECT_TRUE(comes_true([&] { return tasks({.unclaimed = true}).size() == 1; })) << "its time is over";
  ASSERT_TRUE(runtime->claim_task(id, "eve", 1h).ok());
  ASSERT_TRUE(runtime->resolve_task(id, Payload(R"({"ok":2})"), {.who = "eve"}).ok());
  EXPECT_EQ(end_of(*runtime, run).result.str(), R"({"ok":2})");
  EXPECT_TRUE(fails_with(runtime->claim_task(id, "ann", 25h), ErrorCode::invalid, {"24 hours"}));
  EXPECT_TRUE(fails_with(runtime->claim_task(id, "ann"), ErrorCode::not_found, {id}));
}

TEST_P(TasksTest, a_claim_keeps_others_away_behind_any_number_of_claims_that_are_over) {
  start("help.asked", "a");
  ASSERT_TRUE(comes_to(1));
  const std::string id = tasks()[0].id;
  for (int i = 0; i < 120; ++i) {
    (void)runtime->claim_task(id, "p" + std::to_string(i), 1ms);
    std::this_thread::sleep_for(2ms);
  }
  ASSERT_TRUE(comes_true([&] { return runtime->claim_task(id, "ann", 1h).ok(); }));
  EXPECT_TRUE(fails_with(runtime->claim_task(id, "bob", 1h), ErrorCode::conflict, {"ann"}));
  EXPECT_EQ(tasks()[0].claimed_by, "ann");
}

TEST_P(TasksTest, of_many_who_claim_at_once_one_has_it) {
  start("help.asked", "a");
  ASSERT_TRUE(comes_to(1));
  const std::string id = tasks()[0].id;
  std::atomic<int> won{0};
  std::vector<std::thread> people;
  for (int i = 0; i < 8; ++i)
    people.emplace_back([&, i] { won += runtime->claim_task(id, "p" + std::to_string(i), 1h).ok() ? 1 : 0; });
  for (std::thread& one : people) one.join();
  EXPECT_EQ(won, 1);
  EXPECT_EQ(tasks({.unclaimed = true}).size(), 0u);
}

TEST_P(TasksTest, a_task_times_out_with_its_hook) {
  const RunId run = start("help.soon", "a");
  ASSERT_TRUE(comes_to(1));
  const Task task = tasks()[0];
  EXPECT_NE(task.times_out_at, Instant());
  EXPECT_EQ(task.role, "night");
  EXPECT_EQ(end_of(*runtime, run).status, JobStatus::completed);
  EXPECT_TRUE(tasks().empty());
  EXPECT_TRUE(fails_with(runtime->resolve_task(task.id, Payload("{}")), ErrorCode::not_found, {"timed out"}));
}

INSTANTIATE_TEST_SUITE_P(store, TasksTest, every_setting, setting_name);

}  // namespace
}  // namespace pawl
