// Routes of apps, jobs and signals.
#include "serve/test_site.h"

namespace pawl::serve {
namespace {

using namespace testing;

class JobsApiTest : public SiteTest {
 protected:
  void greet_all() {
    EXPECT_TRUE(runtime_->serve("greet", [](Work& work) {
      (void)work;
      return Reply::success(Payload(R"({"text":"hello"})"));
    }));
  }
};

TEST_F(JobsApiTest, a_job_is_started_and_waited_for) {
  greet_all();
  const json::object started =
      ask_object("POST", "/v1/jobs?wait=10s", R"({"graph":"hello.said","input":{"name":"Ann"},"id":"a"})", 201);
  EXPECT_EQ(started.at("id").as_string(), "a");
  EXPECT_TRUE(started.at("created").as_bool());
  EXPECT_EQ(started.at("job").at("status").as_string(), "completed");
  EXPECT_EQ(started.at("job").at("data").at("greeting").as_string(), "hello");
  const json::object again = ask_object("POST", "/v1/jobs", R"({"graph":"hello.said","id":"a"})", 200);
  EXPECT_FALSE(again.at("created").as_bool());
  EXPECT_EQ(again.at("run"), started.at("run"));
  EXPECT_EQ(text(ask_object("POST", "/v1/jobs", R"({"graph":"hello.said","id":"a","reuse":"reject"})", 409), "code"),
            "already_exists");
}

TEST_F(JobsApiTest, a_wait_for_one_job_brings_the_ends_of_others) {
  const auto begin = [&](const std::string& id, const std::string& graph) {
    return text(ask_object("POST", "/v1/jobs", "{\"graph\":\"" + graph + "\",\"id\":\"" + id + "\"}", 201), "run");
  };
  greet_all();
  const std::string a = begin("a", "hello.said"), b = begin("b", "hello.said"), open = begin("o", "hello.asked");
  for (const char* id : {"a", "b"}) ask_object("GET", "/v1/jobs/" + std::string(id) + "/result?timeout=10s", "", 200);
  const auto ids = [&](const std::string& runs, const std::string& timeout) {
    std::string seen;
    const std::string body = "{\"runs\":[" + runs + "],\"timeout\":\"" + timeout + "\"}";
    const json::object answer = ask_object("POST", "/v1/jobs/results", body, 200);
    for (const json::value& job : answer.at("jobs").as_array())
      seen += text(job, "id") + ":" + text(job, "status") + " ";
    return seen;
  };
  const auto list = [](std::initializer_list<std::string> runs) {
    std::string all;
    for (const std::string& run : runs) all += (all.empty() ? "\"" : ",\"") + run + "\"";
    return all;
  };
  EXPECT_EQ(ids(list({a, open, b, "1"}), "10s"), "a:completed b:completed ");
  EXPECT_EQ(ids(list({open, b}), "20ms"), "o:running b:completed ");
  EXPECT_EQ(ids(list({b}), "0s"), "b:completed ");
  ask_object("POST", "/v1/jobs/results", R"({"runs":["1"]})", 404);
  EXPECT_EQ(text(ask_object("POST", "/v1/jobs/results", R"({"runs":[]})", 400), "field"), "runs");
  EXPECT_EQ(text(ask_object("POST", "/v1/jobs/results", R"({"runs":["x"]})", 400), "field"), "runs");
}

TEST_F(JobsApiTest, an_idempotency_key_is_the_id_of_a_job_without_one) {
  const Pairs headers{{"host", "localhost"}, {"idempotency-key", "key-1"}};
  const auto first = send("POST", "/v1/jobs", R"({"graph":"hello.said"})", headers)->answer();
  const auto second = send("POST", "/v1/jobs", R"({"graph":"hello.said"})", headers)->answer();
  ASSERT_TRUE(first && second);
  EXPECT_EQ(first->status, 201);
  EXPECT_EQ(second->status, 200);
  EXPECT_EQ(json::parse(first->body).at("run"), json::parse(second->body).at("run"));
}

TEST_F(JobsApiTest, what_is_wrong_with_a_request_is_named) {
  const auto problem = [&](const std::string& body) { return ask_object("POST", "/v1/jobs", body, 400); };
  EXPECT_EQ(text(problem(R"({"input":{}})"), "field"), "graph");
  EXPECT_EQ(text(problem(R"({"graph":"hello.said","priority":"high"})"), "field"), "priority");
  EXPECT_EQ(text(problem(R"({"graph":"hello.said","delay":"soon"})"), "field"), "delay");
  EXPECT_EQ(text(problem(R"({"graph":"hello.said","grahp":1})"), "field"), "grahp");
  EXPECT_EQ(text(problem(R"({"graph":"hello.said","reuse":"maybe"})"), "field"), "reuse");
  EXPECT_EQ(text(problem("[1]"), "code"), "invalid");
  EXPECT_EQ(text(problem("{"), "code"), "invalid");
  EXPECT_EQ(text(ask_object("POST", "/v1/jobs", R"({"graph":"nobody.has.it"})", 404), "code"), "not_found");
  EXPECT_EQ(text(ask_object("GET", "/v1/jobs?limit=0", "", 400), "field"), "limit");
  EXPECT_EQ(text(ask_object("GET", "/v1/jobs?status=open", "", 400), "code"), "invalid");
}

TEST_F(JobsApiTest, jobs_are_listed_page_by_page_and_counted) {
  for (int i = 0; i < 5; ++i) start("j" + std::to_string(i));
  std::string after;
  std::string seen;
  for (int pages = 0; pages < 4; ++pages) {
    const json::object page = ask_object("GET", "/v1/jobs?order=oldest&limit=2" + after, "", 200);
    for (const json::value& job : page.at("jobs").as_array()) seen += text(job, "id") + " ";
    if (page.at("next").is_null()) break;
    after = "&after=" + percent_encoded(std::string(page.at("next").as_string()));
  }
  EXPECT_EQ(seen, "j0 j1 j2 j3 j4 ");
  EXPECT_EQ(ask_object("GET", "/v1/jobs/count", "", 200).at("total").as_int64(), 5);
  EXPECT_EQ(ask_object("GET", "/v1/jobs/count?status=running", "", 200).at("states").at("running").as_int64(), 5);
  EXPECT_EQ(ask_object("GET", "/v1/jobs/count?status=failed", "", 200).at("total").as_int64(), 0);
  EXPECT_EQ(ask_object("GET", "/v1/jobs/count?graph=hello/hello.asked", "", 200).at("total").as_int64(), 0);
  EXPECT_EQ(ask_object("GET", "/v1/jobs/count?status=failed,running&status=running", "", 200).at("total").as_int64(),
            5);
}

TEST_F(JobsApiTest, filters_are_those_of_the_command_line) {
  ask_object("POST", "/v1/jobs?wait=1s", R"({"graph":"hello.asked","id":"q","namespace":"n"})", 201);
  for (int i = 0; i < 2; ++i) start("f" + std::to_string(i));
  for (const json::value& work : take(",\"max\":1"))
    ask_object("POST", "/v1/work/" + text(work, "token") + "/fail?retryable=false&code=503",
               R"({"message":"Connection refused"})", 200);
  const auto count = [&](const std::string& query) {
    return ask_object("GET", "/v1/jobs/count?" + query, "", 200).at("total").as_int64();
  };
  for (int i = 0; i < 500 && count("status=failed") == 0; ++i) std::this_thread::sleep_for(10ms);
  EXPECT_EQ(count("status=failed"), 1);
  EXPECT_EQ(count("error=connection%20REFUSED"), 1);
  EXPECT_EQ(count("error=timeout"), 0);
  EXPECT_EQ(count("code=503"), 1);
  EXPECT_EQ(count("code=500"), 0);
  EXPECT_EQ(count("activity=greet"), 2);
  EXPECT_EQ(count("activity=greet&status=running"), 1);
  EXPECT_EQ(count("graph=hello/hello.said&where=greet=errored"), 1);
  EXPECT_EQ(count("namespace=n"), 1);
  EXPECT_EQ(count("since=1h"), 3);
  EXPECT_EQ(count("until=1h"), 0);
  EXPECT_EQ(count("older_than=1h"), 0);
  EXPECT_EQ(count("younger_than=1h"), 3);
  EXPECT_EQ(count("ended_since=1h"), 1);
  EXPECT_EQ(count("since=2020-01-01&until=2020-01-02T00:00:00Z"), 0);
  const auto wrong = [&](const std::string& query) { return ask("GET", "/v1/jobs?" + query).status; };
  EXPECT_EQ(wrong("since=yesterday"), 400);
  EXPECT_EQ(wrong("code=many"), 400);
  EXPECT_EQ(wrong("where=greet"), 400);
  EXPECT_EQ(wrong("activity=nobody"), 400);
  EXPECT_EQ(wrong("label=a=b"), 400);
  EXPECT_EQ(wrong("brief=perhaps"), 400);
}

TEST_F(JobsApiTest, a_brief_list_leaves_out_what_may_be_large) {
  greet_all();
  ask_object("POST", "/v1/jobs?wait=10s", R"({"graph":"hello.said","id":"a"})", 201);
  EXPECT_TRUE(ask_object("GET", "/v1/jobs", "", 200).at("jobs").at(0).at("data").is_object());
  EXPECT_TRUE(ask_object("GET", "/v1/jobs?brief=true", "", 200).at("jobs").at(0).at("data").is_null());
}

TEST_F(JobsApiTest, many_are_started_with_a_line_for_each) {
  const Response response =
      ask("POST", "/v1/jobs/batch",
          "{\"graph\":\"hello.said\",\"id\":\"x\"}\n{\"graph\":7}\n\n{\"graph\":\"hello.said\",\"id\":\"y\"}\n");
  EXPECT_EQ(response.type, "application/x-ndjson");
  std::istringstream lines(response.body);
  std::string line;
  std::getline(lines, line);
  EXPECT_EQ(text(json::parse(line), "id"), "x");
  std::getline(lines, line);
  EXPECT_EQ(json::parse(line).at("problem").at("code").as_string(), "invalid");
  std::getline(lines, line);
  EXPECT_EQ(text(json::parse(line), "id"), "y");
  EXPECT_FALSE(std::getline(lines, line));
}

TEST_F(JobsApiTest, a_wait_that_is_over_says_how_the_job_stands) {
  start("slow");
  EXPECT_EQ(text(ask_object("GET", "/v1/jobs/slow/result?timeout=50ms", "", 202), "status"), "running");
  EXPECT_EQ(text(ask_object("GET", "/v1/jobs/slow/result", "", 202), "status"), "running");
}

TEST_F(JobsApiTest, a_signal_reaches_the_job_that_waits) {
  ask_object("POST", "/v1/jobs", R"({"graph":"hello.asked","id":"q"})", 201);
  ask_object("POST", "/v1/signals", R"({"topic":"hello.sure","data":{"job":"q","sure":true}})", 200);
  const json::object end = ask_object("GET", "/v1/jobs/q/result?timeout=10s", "", 200);
  EXPECT_TRUE(end.at("data").at("sure").as_bool());
}

TEST_F(JobsApiTest, a_signal_with_start_starts_once) {
  const std::string body =
      R"({"topic":"hello.sure","id":"s1","data":{"sure":true},"start":{"graph":"hello.asked","id":"w"}})";
  ask_object("POST", "/v1/signals", body, 201);
  EXPECT_TRUE(ask_object("GET", "/v1/jobs/w/result?timeout=10s", "", 200).at("data").at("sure").as_bool());
  EXPECT_EQ(text(ask_object("POST", "/v1/signals", R"({"topic":"t","start":{"id":"w"}})", 400), "field"),
            "start.graph");
}

TEST_F(JobsApiTest, verbs_are_carried_out_or_refused_with_the_reason) {
  start("v");
  ask_object("POST", "/v1/jobs/v/pause", R"({"reason":"lunch"})", 200);
  for (int i = 0; i < 100 && text(ask_object("GET", "/v1/jobs/v", "", 200), "status") != "paused"; ++i)
    std::this_thread::sleep_for(10ms);
  EXPECT_EQ(text(ask_object("GET", "/v1/jobs/v", "", 200), "reason"), "lunch");
  ask_object("POST", "/v1/jobs/v/resume", "", 200);
  EXPECT_EQ(text(ask_object("POST", "/v1/jobs/v/redrive", "", 400), "code"), "invalid");
  EXPECT_EQ(text(ask_object("DELETE", "/v1/jobs/v", "", 400), "code"), "invalid");
  ask_object("POST", "/v1/jobs/v/interrupt", R"({"reason":"enough"})", 200);
  EXPECT_EQ(text(ask_object("GET", "/v1/jobs/v/result?timeout=10s", "", 200), "status"), "interrupted");
  ask_object("DELETE", "/v1/jobs/v", "", 200);
  EXPECT_EQ(ask("GET", "/v1/jobs/v").status, 404);
}

TEST_F(JobsApiTest, a_bulk_request_does_it_to_all_or_only_counts) {
  for (int i = 0; i < 3; ++i) start("b" + std::to_string(i));
  const std::string filter = R"({"filter":{"status":"running"})";
  json::object done = ask_object("POST", "/v1/bulk/interrupt", filter + R"(,"dry_run":true})", 200);
  EXPECT_EQ(done.at("matched").as_int64(), 3);
  done = ask_object("POST", "/v1/bulk/interrupt", filter + R"(,"reason":"over"})", 200);
  EXPECT_EQ(done.at("done").as_int64(), 3);
  EXPECT_EQ(text(ask_object("GET", "/v1/jobs/b2/result?timeout=10s", "", 200), "status"), "interrupted");
  EXPECT_EQ(ask("POST", "/v1/bulk/explode", filter + "}").status, 404);
  EXPECT_EQ(text(ask_object("POST", "/v1/bulk/pause", "{}", 400), "field"), "filter");
  // A misspelt condition would mean all jobs.
  EXPECT_EQ(text(ask_object("POST", "/v1/bulk/remove", R"({"filter":{"statsu":"failed"}})", 400), "code"), "invalid");
  EXPECT_EQ(ask_object("GET", "/v1/jobs/count", "", 200).at("total").as_int64(), 3);
}

TEST_F(JobsApiTest, a_signal_to_all_reaches_each_job_of_a_filter) {
  for (int i = 0; i < 3; ++i)
    ask_object("POST", "/v1/jobs", R"({"graph":"hello.asked","id":"w)" + std::to_string(i) + "\"}", 201);
  const json::object fate =
      ask_object("POST", "/v1/signals", R"({"topic":"hello.sure","data":{"job":"w1"},"dry_run":true})", 200);
  EXPECT_TRUE(fate.at("kept").is_bool());
  const json::object done = ask_object(
      "POST", "/v1/bulk/signal",
      R"({"filter":{"graph":"hello/hello.asked"},"signal":{"topic":"hello.sure","data":{"sure":true}}})", 200);
  EXPECT_EQ(done.at("done").as_int64(), 3);
  for (int i = 0; i < 3; ++i)
    EXPECT_EQ(text(ask_object("GET", "/v1/jobs/w" + std::to_string(i) + "/result?timeout=10s", "", 200), "status"),
              "completed");
  EXPECT_EQ(text(ask_object("POST", "/v1/bulk/signal", R"({"filter":{}})", 400), "field"), "signal");
}

TEST_F(JobsApiTest, a_failed_job_goes_on_in_a_new_run) {
  start("d");
  const json::array work = take();
  ask_object("POST", "/v1/work/" + text(work.at(0), "token") + "/fail?retryable=false", R"("down")", 200);
  const json::object failed = ask_object("GET", "/v1/jobs/d/result?timeout=10s", "", 200);
  EXPECT_EQ(text(failed, "status"), "failed");
  greet_all();
  const json::object going = ask_object("POST", "/v1/jobs/d/redrive", "", 200);
  EXPECT_NE(going.at("run"), failed.at("run"));
  EXPECT_EQ(text(ask_object("GET", "/v1/jobs/d/result?timeout=10s", "", 200), "status"), "completed");
  EXPECT_EQ(text(ask_object("POST", "/v1/jobs/d/redrive", R"({"code":200})", 400), "field"), "code");
}

TEST_F(JobsApiTest, the_status_of_the_store_and_the_doctor_are_there) {
  start("s");
  const json::object status = ask_object("GET", "/v1/status?errors=0", "", 200);
  EXPECT_EQ(status.at("jobs").at("running").as_int64(), 1);
  EXPECT_TRUE(status.at("owner_alive").as_bool());
  EXPECT_FALSE(ask_object("GET", "/v1/doctor", "", 200).at("findings").as_array().empty());
  json::array topics;
  for (int i = 0; i < 500 && topics.empty(); ++i) {  // until its activity is open
    if (i > 0) std::this_thread::sleep_for(10ms);
    topics = ask_object("GET", "/v1/topics", "", 200).at("topics").as_array();
  }
  ASSERT_EQ(topics.size(), 1u);
  EXPECT_EQ(topics.at(0).at("backlog").as_int64(), 1);
  EXPECT_TRUE(topics.at(0).at("oldest_waiting_at").is_string());
}

TEST_F(JobsApiTest, a_job_is_run_again_with_its_input_or_another) {
  greet_all();
  start("r");
  ask_object("GET", "/v1/jobs/r/result?timeout=10s", "", 200);
  const json::object again = ask_object("POST", "/v1/jobs/r/rerun", R"({"id":"r2"})", 201);
  EXPECT_EQ(again.at("id").as_string(), "r2");
  EXPECT_EQ(text(again, "namespace"), "default");
  EXPECT_EQ(ask_object("GET", "/v1/jobs/r2", "", 200).at("input").at("name").as_string(), "Ann");
  EXPECT_EQ(text(ask_object("POST", "/v1/jobs/r/rerun", R"({"id":"r2"})", 409), "code"), "already_exists");
  const json::object other = ask_object("POST", "/v1/jobs/r/rerun", R"({"input":{"name":"Bo"}})", 201);
  EXPECT_EQ(ask_object("GET", "/v1/jobs/" + text(other, "id"), "", 200).at("input").at("name").as_string(), "Bo");
}

TEST_F(JobsApiTest, history_export_and_picture_are_of_the_job) {
  greet_all();
  start("h");
  ask_object("GET", "/v1/jobs/h/result?timeout=10s", "", 200);
  const json::array events = ask_object("GET", "/v1/jobs/h/history", "", 200).at("events").as_array();
  ASSERT_GE(events.size(), 4u);
  EXPECT_EQ(text(events.front(), "what"), "job_started");
  EXPECT_EQ(text(events.back(), "what"), "job_closed");
  EXPECT_EQ(ask_object("GET", "/v1/jobs/h/export?children=true", "", 200).at("id").as_string(), "h");
  const Response picture = ask("GET", "/v1/jobs/h/picture");
  EXPECT_EQ(picture.type, "image/svg+xml");
  EXPECT_NE(picture.body.find("data-activity=\"greet\""), std::string::npos);
}

TEST_F(JobsApiTest, a_name_that_a_query_does_not_have_is_refused) {
  start("q");
  for (const char* target : {"/v1/jobs?grpah=hello/hello.said", "/v1/jobs/count?stauts=failed",
                             "/v1/jobs/q?nmaespace=x", "/v1/topics?x=1", "/v1/tasks?rolle=boss"}) {
    const json::object refused = ask_object("GET", target, "", 400);
    EXPECT_EQ(text(refused, "code"), "invalid") << target;
    const std::string query(target);
    const std::size_t from = query.find('?') + 1;
    EXPECT_EQ(text(refused, "field"), query.substr(from, query.find('=') - from)) << target;
  }
  EXPECT_NE(text(ask_object("GET", "/v1/jobs?grpah=x", "", 400), "detail").find("did you mean graph?"),
            std::string::npos);
  ask_object("DELETE", "/v1/jobs/q?keep=1h", "", 400);
  ask_object("GET", "/v1/jobs/q", "", 200);
}

TEST_F(JobsApiTest, a_job_shows_the_version_that_it_runs_on) {
  std::string second = greet_app;
  second.replace(second.find("\"1\""), 3, "\"1.2-beta\"");
  for (std::size_t at = second.find("greet"); at != std::string::npos; at = second.find("greet", at + 7))
    second.replace(at, 5, "welcome");
  start("old");
  ask_object("POST", "/v1/apps", second, 200);
  start("new");
  EXPECT_EQ(text(ask_object("GET", "/v1/jobs/old", "", 200), "app_version"), "1");
  EXPECT_EQ(text(ask_object("GET", "/v1/jobs/new", "", 200), "app_version"), "1.2-beta");
  EXPECT_NE(ask("GET", "/v1/jobs/old/picture").body.find("data-activity=\"greet\""), std::string::npos);
  EXPECT_NE(ask("GET", "/v1/jobs/new/picture").body.find("data-activity=\"welcome\""), std::string::npos);
  const json::array events = ask_object("GET", "/v1/jobs/new/history", "", 200).at("events").as_array();
  EXPECT_NE(text(events.front(), "detail").find("version 1.2-beta"), std::string::npos);
}

TEST_F(JobsApiTest, apps_are_checked_deployed_and_activated) {
  const json::object bad = ask_object("POST", "/v1/apps", "app: {id: x, version: \"1\", graphs: [{}]}", 422);
  EXPECT_EQ(text(bad, "code"), "app_mistakes");
  EXPECT_FALSE(bad.at("mistakes").as_array().empty());
  EXPECT_FALSE(ask_object("POST", "/v1/apps/check", "app: 1", 200).at("ok").as_bool());
  std::string second = greet_app;
  second.replace(second.find("\"1\""), 3, "\"2\"");
  EXPECT_EQ(text(ask_object("POST", "/v1/apps?activate=false", second, 200), "version"), "2");
  ask_object("POST", "/v1/apps/hello/activate", R"({"version":"2"})", 200);
  EXPECT_EQ(ask_object("GET", "/v1/apps", "", 200).at("apps").as_array().size(), 2u);
  EXPECT_EQ(text(ask_object("GET", "/v1/apps/hello", "", 200), "version"), "2");
  EXPECT_NE(ask("GET", "/v1/apps/hello/picture?format=mermaid&topic=hello.said").body.find("greet"), std::string::npos);
  EXPECT_EQ(ask("GET", "/v1/apps/nobody").status, 404);
  std::string other = greet_app;
  other.replace(other.find("1ms"), 3, "2ms");
  EXPECT_EQ(text(ask_object("POST", "/v1/apps", other, 409), "code"), "already_exists");
}

}  // namespace
}  // namespace pawl::serve
