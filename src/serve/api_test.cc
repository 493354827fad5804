// The API as a whole: the document and the routes say the same, every error has its page, and who may ask.
#include <algorithm>
#include <set>

#include "serve/embedded.h"
#include "serve/problem.h"
#include "serve/test_site.h"

namespace pawl::serve {
namespace {

using namespace testing;

class ApiTest : public SiteTest {};

std::set<std::string> documented_routes(const json::value& document) {
  std::set<std::string> routes;
  for (const auto& path : document.at("paths").as_object())
    for (const auto& method : path.value().as_object()) {
      std::string name(method.key());
      std::transform(name.begin(), name.end(), name.begin(), [](char c) { return static_cast<char>(std::toupper(c)); });
      routes.insert(name + " " + std::string(path.key()));
    }
  return routes;
}

TEST_F(ApiTest, the_document_lists_exactly_the_routes) {
  const json::value document = json::parse(ask("GET", "/v1/openapi.json").body);
  std::set<std::string> served;
  for (const Route& route : api_->router().routes()) {
    // One route of the document stands for each verb of bulk requests.
    served.insert(route.method + " " + route.pattern);
  }
  EXPECT_EQ(documented_routes(document), served);
}

TEST_F(ApiTest, the_document_has_every_error_code_and_each_has_a_page) {
  const json::value document = json::parse(embedded("openapi.json"));
  std::set<std::string> documented;
  for (const json::value& code : document.at("components").at("schemas").at("ErrorCode").at("enum").as_array())
    documented.emplace(code.as_string());
  std::set<std::string> known;
  for (const ProblemKind& kind : problem_kinds()) {
    known.emplace(kind.code);
    const Response page = ask("GET", "/errors/" + std::string(kind.code));
    EXPECT_EQ(page.status, 200);
    EXPECT_NE(page.body.find(kind.code), std::string::npos) << kind.code;
  }
  EXPECT_EQ(documented, known);
  EXPECT_EQ(ask("GET", "/errors/nothing").status, 404);
}

TEST_F(ApiTest, a_problem_names_its_code_page_and_request) {
  const json::object problem = ask_object("GET", "/v1/jobs/nobody", "", 404);
  EXPECT_EQ(problem.at("code").as_string(), "not_found");
  EXPECT_EQ(problem.at("type").as_string(), "/errors/not_found");
  EXPECT_EQ(problem.at("status").as_int64(), 404);
  EXPECT_FALSE(problem.at("request").as_string().empty());
}

TEST_F(ApiTest, unknown_paths_and_methods_are_told_apart) {
  EXPECT_EQ(text(ask_object("GET", "/v2/jobs", "", 404), "code"), "no_such_route");
  const Response response = ask("DELETE", "/v1/jobs");
  EXPECT_EQ(response.status, 405);
  const auto allow = std::find_if(response.headers.begin(), response.headers.end(),
                                  [](const auto& one) { return one.first == "Allow"; });
  ASSERT_NE(allow, response.headers.end());
  EXPECT_NE(allow->second.find("POST"), std::string::npos);
}

TEST_F(ApiTest, health_and_figures_are_there) {
  EXPECT_EQ(text(ask_object("GET", "/health", "", 200), "status"), "ok");
  EXPECT_EQ(ask("GET", "/health/ready").status, 200);
  start("m");
  std::string metrics;
  const auto has = [&](const char* line) { return metrics.find(line) != std::string::npos; };
  for (int i = 0; i < 500 && !(has("state=\"ready\"} 1") && has("kind=\"activity_opened\"")); ++i) {
    if (i > 0) std::this_thread::sleep_for(10ms);
    metrics = ask("GET", "/metrics").body;
  }
  EXPECT_NE(metrics.find("pawl_http_requests_total{route=\"POST /v1/jobs\",status=\"201\"} 1"), std::string::npos)
      << metrics;
  for (const char* line : {"pawl_jobs{graph=\"hello/hello.said\",state=\"running\"} 1",
                           "pawl_topic_work{topic=\"greet\",state=\"ready\"} 1", "pawl_commit_seconds_count",
                           "pawl_commit_operations_total", "pawl_store_up 1"})
    EXPECT_NE(metrics.find(line), std::string::npos) << line << "\n" << metrics;
  EXPECT_NE(metrics.find("pawl_events_total{graph=\"hello/hello.said\",kind=\"job_started\"}"), std::string::npos)
      << metrics;
}

TEST_F(ApiTest, a_page_of_another_site_may_not_ask) {
  const auto refused = [&](const Pairs& headers) {
    const auto response = send("GET", "/v1/jobs", "", headers)->answer();
    return response && response->status == 403;
  };
  EXPECT_TRUE(refused({{"host", "127.0.0.1:1"}, {"origin", "http://evil.example"}}));
  EXPECT_TRUE(refused({{"host", "evil.example:8210"}}));
  EXPECT_FALSE(refused({{"host", "127.0.0.1:1"}, {"origin", "http://127.0.0.1:1"}}));
  EXPECT_FALSE(refused({{"host", "localhost:8210"}}));
  EXPECT_FALSE(refused({{"host", "[::1]:8210"}}));
}

TEST_F(ApiTest, a_server_that_stops_takes_nothing_new) {
  site_->stopping = true;
  EXPECT_EQ(text(ask_object("GET", "/v1/jobs", "", 503), "code"), "stopping");
  EXPECT_EQ(ask("GET", "/health/ready").status, 503);
  EXPECT_EQ(ask("GET", "/health/live").status, 200);
}

TEST_F(ApiTest, a_client_makes_no_labels_of_its_own) {
  for (const char* method : {"BREW", "brew", "GET2", "PROPFIND"}) ask(method, "/v1/jobs");
  const std::string figures = ask("GET", "/metrics").body;
  EXPECT_NE(figures.find("route=\"(other) (none)\",status=\"405\"} 4"), std::string::npos) << figures;
  EXPECT_EQ(figures.find("BREW"), std::string::npos);
}

TEST_F(ApiTest, the_token_of_an_attempt_is_not_logged) {
  ask("POST", "/v1/work/w-secret-1/complete", "{}");
  ask("POST", "/v1/work/w-secret-2/compleet", "{}");
  ask("GET", "/v1/work/w-secret-3/complete", "{}");
  EXPECT_NE(logged().find("path=/v1/work/{token}/complete"), std::string::npos) << logged();
  EXPECT_EQ(logged().find("w-secret"), std::string::npos) << logged();
}

TEST_F(ApiTest, whether_it_lives_and_short_requests_do_not_wait_for_slow_ones) {
  std::mutex mutex;
  mutex.lock();
  const auto wait = [&] { const std::lock_guard lock(mutex); };
  for (int i = 0; i < 20; ++i) EXPECT_TRUE(site_->crew.take(wait, Crew::Length::slow));
  EXPECT_EQ(ask("GET", "/health").status, 200);
  for (int i = 0; i < 20; ++i) EXPECT_TRUE(site_->crew.take(wait));
  EXPECT_EQ(ask("GET", "/health/live").status, 200);
  mutex.unlock();
  EXPECT_EQ(ask("GET", "/v1/jobs").status, 200);
}

class TokenTest : public SiteTest {
 protected:
  TokenTest() : SiteTest(AccessRules{.token = "correct horse battery", .extra_hosts = {}, .any_host = false}) {}
  int status_with(const std::string& authorization) {
    const auto response =
        send("GET", "/v1/jobs", "", {{"host", "localhost"}, {"authorization", authorization}})->answer();
    return response ? response->status : 0;
  }
};

TEST_F(TokenTest, only_the_right_token_passes_and_it_is_never_logged) {
  EXPECT_EQ(ask("GET", "/v1/jobs").status, 401);
  EXPECT_EQ(status_with("Bearer correct horse battery"), 200);
  EXPECT_EQ(status_with("Bearer correct horse batterx"), 401);
  EXPECT_EQ(status_with("Bearer correct horse batter"), 401);
  EXPECT_EQ(status_with("Basic correct horse battery"), 401);
  EXPECT_EQ(ask("GET", "/health").status, 200);
  EXPECT_EQ(ask("GET", "/metrics").status, 401);
  EXPECT_NE(logged().find("401"), std::string::npos);
  EXPECT_EQ(logged().find("horse"), std::string::npos);
}

TEST(Access, off_loopback_a_token_and_tls_are_wanted) {
  EXPECT_EQ(too_open({.address = "127.0.0.1"}), "");
  EXPECT_EQ(too_open({.address = "::1"}), "");
  EXPECT_NE(too_open({.address = "0.0.0.0"}), "");
  EXPECT_NE(too_open({.address = "0.0.0.0", .token = true}), "");
  EXPECT_NE(too_open({.address = "0.0.0.0", .tls = true}), "");
  EXPECT_EQ(too_open({.address = "0.0.0.0", .token = true, .tls = true}), "");
  EXPECT_EQ(too_open({.address = "10.0.0.1", .accept_no_token = true, .accept_no_tls = true}), "");
  EXPECT_FALSE(is_loopback("127.0.0.1.evil.example"));
}

}  // namespace
}  // namespace pawl::serve
