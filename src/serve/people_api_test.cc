// Kept signals, rules of retention and tasks, over the API and by a program that asks a server.
#include <gtest/gtest.h>

#include <thread>

#include "pawl/pawl.h"
#include "serve/server.h"
#include "serve/test_site.h"

namespace pawl::serve {
namespace {

using namespace testing;

constexpr const char* ask_app = R"(
app:
  id: desk
  version: "1"
  graphs:
    - subscribes: desk.asked
      activities:
        asked: {type: trigger}
        person:
          type: hook
          escalation: {role: support, type: question, description: "{asked.output.data.text}"}
          job: {maps: {said: "{$self.hook.data.text}"}}
      transitions: {asked: [{to: person}]}
      hooks:
        desk.said: [{to: person, conditions: {match: [{expected: "{$job.metadata.jid}", actual: "{$self.hook.data.job}"}]}}]
)";

class PeopleApiTest : public SiteTest {
 protected:
  PeopleApiTest() { EXPECT_TRUE(runtime_->deploy(AppText{ask_app}, {})); }
};

TEST_F(PeopleApiTest, what_is_wrong_with_a_request_is_named) {
  EXPECT_EQ(text(ask_object("PUT", "/v1/retention", "{}", 400), "field"), "keep");
  EXPECT_EQ(text(ask_object("PUT", "/v1/retention", R"({"keep":"1d","forever":true})", 400), "field"), "keep");
  EXPECT_EQ(text(ask_object("PUT", "/v1/retention", R"({"keep":"1d","status":"running"})", 400), "field"), "status");
  EXPECT_EQ(text(ask_object("DELETE", "/v1/retention?status=open", "", 400), "field"), "status");
  EXPECT_EQ(text(ask_object("DELETE", "/v1/retention", "", 404), "code"), "not_found");
  EXPECT_EQ(text(ask_object("GET", "/v1/signals?until=tomorrowish", "", 400), "field"), "until");
  EXPECT_EQ(text(ask_object("POST", "/v1/tasks/none/claim", "{}", 400), "field"), "who");
  EXPECT_EQ(text(ask_object("POST", "/v1/tasks/none/claim", R"({"who":"ann"})", 400), "code"), "invalid");
}

TEST_F(PeopleApiTest, rules_of_retention_are_set_listed_carried_out_and_dropped) {
  ask_object("PUT", "/v1/retention", R"({"keep":"90d","graph":"desk/desk.asked"})", 200);
  ask_object("PUT", "/v1/retention", R"({"forever":true,"status":"failed"})", 200);
  const json::object rules = ask_object("GET", "/v1/retention", "", 200);
  ASSERT_EQ(rules.at("rules").as_array().size(), 2u);
  const json::object done = ask_object("POST", "/v1/retention/apply", R"({"dry_run":true})", 200);
  EXPECT_EQ(done.at("removed").as_int64(), 0);
  ask_object("DELETE", "/v1/retention?status=failed", "", 200);
  EXPECT_EQ(ask_object("GET", "/v1/retention", "", 200).at("rules").as_array().size(), 1u);
}

class RemotePeopleTest : public ::testing::Test {
 protected:
  RemotePeopleTest() {
    ServerOptions options;
    options.runtime.store = ":memory:";
    options.http.port = 0;
    auto started = Server::start(options, log_, [](runtime::LocalRuntime& runtime) {
      const auto deployed = runtime.deploy(AppText{ask_app}, {});
      return deployed ? Status() : Status(deployed.error());
    });
    EXPECT_TRUE(started);
    server_ = std::move(*started);
    auto runtime = connect({.url = server_->url()});
    EXPECT_TRUE(runtime);
    runtime_ = std::make_unique<Runtime>(std::move(*runtime));
  }
  std::vector<Task> tasks_once_there(std::size_t count, const TaskFilter& filter = {}) {
    for (int i = 0; i < 500; ++i) {
      const auto tasks = runtime_->tasks(filter);
      EXPECT_TRUE(tasks) << tasks.error().detail;
      if (!tasks || tasks->size() == count) return tasks ? *tasks : std::vector<Task>();
      std::this_thread::sleep_for(10ms);
    }
    ADD_FAILURE() << "there are never " << count << " tasks";
    return {};
  }

  Log log_{Log::Form::text, Log::Level::error, [](const std::string&) {}};
  std::unique_ptr<Server> server_;
  std::unique_ptr<Runtime> runtime_;
};

TEST_F(RemotePeopleTest, a_task_is_found_claimed_and_resolved_from_afar) {
  const auto job = runtime_->start("desk.asked", Payload(R"({"text":"may I?"})"), {.id = "j"});
  ASSERT_TRUE(job);
  const auto tasks = tasks_once_there(1, {.role = "support"});
  ASSERT_EQ(tasks.size(), 1u);
  const Task& task = tasks.front();
  EXPECT_EQ(task.job.raw(), "j");
  EXPECT_EQ(task.run, job->run());
  EXPECT_EQ(task.description, "may I?");
  EXPECT_EQ(task.type, "question");
  ASSERT_TRUE(runtime_->claim_task(task.id, "ann", 1h));
  const auto taken = runtime_->claim_task(task.id, "bob", 1h);
  ASSERT_FALSE(taken);
  EXPECT_EQ(taken.error().code, ErrorCode::conflict);
  tasks_once_there(0, {.unclaimed = true});
  EXPECT_EQ(tasks_once_there(1, {.claimed_by = "ann"}).size(), 1u);
  ASSERT_TRUE(runtime_->release_task(task.id, "ann"));
  ASSERT_TRUE(runtime_->resolve_task(task.id, Payload(R"({"text":"yes"})")));
  const auto end = job->wait(10s);
  ASSERT_TRUE(end);
  EXPECT_EQ(end->data.view(), R"({"said":"yes"})");
}

TEST_F(RemotePeopleTest, kept_signals_are_listed_page_by_page_and_dropped_from_afar) {
  for (int i = 0; i < 3; ++i)
    ASSERT_TRUE(runtime_->signal("desk.said", Payload(R"({"job":"late","text":"a"})"), {.id = std::to_string(i)}));
  const auto two = runtime_->kept_signals({.topic = "desk.said", .rows_max = 2});
  ASSERT_TRUE(two) << two.error().detail;
  ASSERT_EQ(two->size(), 2u);
  const auto rest = runtime_->kept_signals({.topic = "desk.said", .after = two->back().cursor, .rows_max = 2});
  ASSERT_TRUE(rest);
  ASSERT_EQ(rest->size(), 1u);
  EXPECT_EQ(rest->front().data.view(), R"({"job":"late","text":"a"})");
  EXPECT_EQ(rest->front().match, R"(["late"])");
  ASSERT_TRUE(runtime_->drop_signal(rest->front().id));
  EXPECT_EQ(runtime_->drop_signal("nonsense").error().code, ErrorCode::invalid);
  EXPECT_EQ(*runtime_->drop_signals({.topic = "other"}), 0u);
  EXPECT_EQ(*runtime_->drop_signals({.topic = "desk.said"}), 2u);
}

TEST_F(RemotePeopleTest, rules_are_the_same_from_afar) {
  ASSERT_TRUE(runtime_->set_retention({.status = JobStatus::failed, .keep = std::chrono::hours(48)}));
  ASSERT_TRUE(runtime_->set_retention({.graph = "desk/desk.asked"}));
  const auto rules = runtime_->retention();
  ASSERT_TRUE(rules);
  ASSERT_EQ(rules->size(), 2u);
  const RetentionRule& failed = rules->front().status ? rules->front() : rules->back();
  EXPECT_EQ(failed.status, JobStatus::failed);
  EXPECT_EQ(failed.keep, std::chrono::hours(48));
  const RetentionRule& of_graph = rules->front().status ? rules->back() : rules->front();
  EXPECT_EQ(of_graph.graph, "desk/desk.asked");
  EXPECT_FALSE(of_graph.keep);
  EXPECT_EQ(runtime_->apply_retention({.dry_run = true})->removed, 0u);
  ASSERT_TRUE(runtime_->drop_retention({.status = JobStatus::failed}));
  EXPECT_EQ(runtime_->drop_retention({.status = JobStatus::failed}).error().code, ErrorCode::not_found);
}

}  // namespace
}  // namespace pawl::serve
