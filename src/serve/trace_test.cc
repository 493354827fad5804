// Traces from the caller to workers and children, and spans at a collector; cancelling over the API.
#include <gtest/gtest.h>

#include <algorithm>
#include <boost/json.hpp>
#include <chrono>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "base/trace_context.h"
#include "pawl/pawl.h"
#include "serve/http_client.h"
#include "serve/http_server.h"
#include "serve/server.h"
#include "serve/span_exporter.h"

namespace pawl::serve {
namespace {

namespace json = boost::json;
using namespace std::chrono_literals;

constexpr const char* app = R"(
app:
  id: shop
  version: "1"
  graphs:
    - subscribes: shop.bought
      activities:
        bought: {type: trigger}
        charge:
          type: worker
          topic: charge
          compensate: refund
          telemetry: {cents: "{bought.output.data.cents}", paid: true}
        child: {type: await, topic: shop.packed}
        odd:
          type: hook
          telemetry: {wrong: {"@pipe": [["{bought.output.data.text}"], ["{@json.parse}"]]}}
          sleep: "{bought.output.data.sleep}"
        refund: {type: worker, topic: refund}
      transitions: {bought: [{to: charge}], charge: [{to: child}], child: [{to: odd}]}
    - subscribes: shop.packed
      activities:
        packed: {type: trigger}
        pack: {type: worker, topic: pack}
      transitions: {packed: [{to: pack}]}
)";
constexpr const char* caller = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

// Takes spans as a collector does.
class Collector {
 public:
  Collector() {
    HttpOptions options;
    options.port = 0;
    auto started = HttpServer::start(
        options, [](Request&) { return std::nullopt; },
        [this](Request request, const ExchangePointer& exchange) { take(request, exchange); }, [](std::int64_t) {});
    EXPECT_TRUE(started);
    http_ = std::move(*started);
  }
  ~Collector() {
    http_->stop_listening();
    http_->stop(100ms);
  }
  std::string url() const { return "http://127.0.0.1:" + std::to_string(http_->port()); }
  void answer_with(int status) {
    const std::lock_guard lock(mutex_);
    status_ = status;
  }
  std::size_t refused() {
    const std::lock_guard lock(mutex_);
    return refused_;
  }
  // Once there are so many.
  std::vector<json::object> spans(std::size_t count) {
    for (int i = 0; i < 1000; ++i) {
      {
        const std::lock_guard lock(mutex_);
        if (spans_.size() >= count) return spans_;
      }
      std::this_thread::sleep_for(10ms);
    }
    ADD_FAILURE() << "only " << spans_.size() << " spans came";
    return spans_;
  }

 private:
  void take(const Request& request, const ExchangePointer& exchange) {
    const std::lock_guard lock(mutex_);
    if (status_ != 200) {
      ++refused_;
      return exchange->respond({status_, "application/json", "{}"});
    }
    EXPECT_EQ(request.path, "/v1/traces");
    const json::value body = json::parse(request.body);
    for (const json::value& resource : body.at("resourceSpans").as_array())
      for (const json::value& scope : resource.at("scopeSpans").as_array())
        for (const json::value& span : scope.at("spans").as_array()) spans_.push_back(span.as_object());
    exchange->respond({200, "application/json", "{}"});
  }
  std::mutex mutex_;
  std::vector<json::object> spans_;
  int status_ = 200;
  std::size_t refused_ = 0;
  std::unique_ptr<HttpServer> http_;
};

std::string text(const json::object& object, std::string_view name) {
  const json::value* value = object.if_contains(name);
  return value != nullptr && value->is_string() ? std::string(value->as_string()) : std::string();
}
json::value attribute(const json::object& span, std::string_view key) {
  for (const json::value& one : span.at("attributes").as_array())
    if (one.at("key").as_string() == key) return one.at("value");
  return nullptr;
}

class TraceTest : public ::testing::Test {
 protected:
  void serve(const std::string& collector) {
    ServerOptions options;
    options.runtime.store = ":memory:";
    options.http.port = 0;
    options.spans.endpoint = collector;
    auto started = Server::start(options, log_, [](runtime::LocalRuntime& runtime) {
      const auto deployed = runtime.deploy(AppText{app}, {});
      return deployed ? Status() : Status(deployed.error());
    });
    ASSERT_TRUE(started) << started.error().detail;
    server_ = std::move(*started);
    client_ = *HttpClient::make({.url = server_->url()});
    auto runtime = connect({.url = server_->url()});
    ASSERT_TRUE(runtime);
    worker_ = std::make_unique<Runtime>(std::move(*runtime));
    for (const char* topic : {"charge", "pack", "refund"})
      ASSERT_TRUE(worker_->serve(topic, [this, topic](Work& work) {
        const std::lock_guard lock(mutex_);
        seen_[topic] = work.trace();
        return Reply::success(Payload("{}"));
      }));
    ASSERT_TRUE(worker_->launch());
  }
  json::object ask(const std::string& target, const std::string& body, int status) {
    const auto reply = client_->send({.method = body.empty() ? "GET" : "POST", .target = target, .body = body});
    EXPECT_TRUE(reply);
    if (!reply) return {};
    EXPECT_EQ(reply->status, status) << reply->body;
    return json::parse(reply->body).as_object();
  }
  std::string seen(const std::string& topic) {
    const std::lock_guard lock(mutex_);
    return seen_[topic];
  }
  Log log_{Log::Form::text, Log::Level::error, [](const std::string&) {}};
  std::unique_ptr<Server> server_;
  std::shared_ptr<HttpClient> client_;
  std::unique_ptr<Runtime> worker_;
  std::mutex mutex_;
  std::map<std::string, std::string> seen_;
};

std::string start_body(const std::string& more) {
  return R"({"graph":"shop.bought","input":{"cents":5,"sleep":0.001,"text":"{"})" + more + "}";
}

TEST_F(TraceTest, a_trace_reaches_workers_and_the_workers_of_children_unchanged) {
  serve("");
  const auto done = ask("/v1/jobs?wait=20s",
                        start_body(R"(,"traceparent":")" + std::string(caller) + R"(","tracestate":"congo=1")"), 201);
  EXPECT_EQ(text(done.at("job").as_object(), "status"), "completed");
  EXPECT_EQ(seen("charge"), std::string(caller) + " congo=1");
  EXPECT_EQ(seen("pack"), std::string(caller) + " congo=1");
  ask("/v1/jobs?wait=20s", start_body(""), 201);
  EXPECT_EQ(seen("charge"), "");
}

TEST_F(TraceTest, a_trace_that_is_none_is_refused_in_a_body) {
  serve("");
  EXPECT_EQ(text(ask("/v1/jobs", start_body(R"(,"traceparent":"00-zz")"), 400), "field"), "traceparent");
  const auto refused = worker_->start("shop.bought", Payload("{}"), {.trace = "nonsense"});
  ASSERT_FALSE(refused);
}

TEST_F(TraceTest, spans_of_jobs_and_activities_hang_together) {
  Collector collector;
  serve(collector.url());
  const auto done =
      ask("/v1/jobs?wait=20s", start_body(R"(,"id":"o-1","traceparent":")" + std::string(caller) + "\""), 201);
  const auto spans = collector.spans(8);  // a job of four, a job of two
  std::map<std::string, json::object> by_name;
  for (const json::object& span : spans) by_name[text(span, "name")] = span;
  for (const json::object& span : spans) EXPECT_EQ(text(span, "traceId"), "0af7651916cd43dd8448eb211c80319c");
  const json::object& job = by_name.at("shop/shop.bought");
  EXPECT_EQ(text(job, "parentSpanId"), "b7ad6b7169203331");
  EXPECT_EQ(attribute(job, "pawl.job").at("stringValue"), "o-1");
  EXPECT_EQ(attribute(job, "pawl.status").at("stringValue"), "completed");
  const json::object& charge = by_name.at("charge");
  EXPECT_EQ(text(charge, "parentSpanId"), text(job, "spanId"));
  EXPECT_EQ(attribute(charge, "cents").at("intValue"), "5");
  EXPECT_EQ(attribute(charge, "paid").at("boolValue"), true);
  EXPECT_LE(std::stoull(text(charge, "startTimeUnixNano")), std::stoull(text(charge, "endTimeUnixNano")));
  EXPECT_EQ(text(by_name.at("shop/shop.packed"), "parentSpanId"), text(by_name.at("child"), "spanId"));
  EXPECT_TRUE(attribute(by_name.at("odd"), "pawl.telemetry.error").is_object()) << "the job goes on without it";
  // A worker continues the span of its activity.
  const auto continued = read_trace(seen("charge"));
  ASSERT_TRUE(continued);
  EXPECT_EQ(span_text(continued->span), text(charge, "spanId"));
  EXPECT_EQ(span_text(read_trace(seen("pack"))->span), text(by_name.at("pack"), "spanId"));
}

TEST_F(TraceTest, a_job_without_a_caller_has_a_trace_of_its_own) {
  Collector collector;
  serve(collector.url());
  ask("/v1/jobs?wait=20s", start_body(""), 201);
  const auto spans = collector.spans(8);
  std::size_t roots = 0;
  for (const json::object& span : spans) {
    EXPECT_EQ(text(span, "traceId"), text(spans.front(), "traceId"));
    if (text(span, "parentSpanId").empty()) {
      ++roots;
      EXPECT_EQ(text(span, "name"), "shop/shop.bought");
    }
  }
  EXPECT_EQ(roots, 1u);
}

TEST_F(TraceTest, a_trace_that_is_not_sampled_is_carried_and_not_reported) {
  Collector collector;
  serve(collector.url());
  const std::string quiet = std::string(caller).substr(0, 53) + "00";
  ask("/v1/jobs?wait=20s", start_body(R"(,"traceparent":")" + quiet + "\""), 201);
  EXPECT_EQ(read_trace(seen("charge"))->flags, 0);
  ask("/v1/jobs?wait=20s", start_body(R"(,"id":"told")"), 201);
  for (const json::object& span : collector.spans(8))
    EXPECT_NE(text(span, "traceId"), "0af7651916cd43dd8448eb211c80319c");
}

TEST_F(TraceTest, spans_wait_for_a_collector_that_is_down_and_jobs_do_not) {
  Collector collector;
  collector.answer_with(503);
  serve(collector.url());
  const auto done = ask("/v1/jobs?wait=20s", start_body(""), 201);
  EXPECT_EQ(text(done.at("job").as_object(), "status"), "completed");
  for (int i = 0; i < 500 && collector.refused() == 0; ++i) std::this_thread::sleep_for(10ms);
  EXPECT_GT(collector.refused(), 0u);
  collector.answer_with(200);
  EXPECT_EQ(collector.spans(8).size(), 8u);
}

TEST(SpanExporter, drops_what_no_collector_takes_and_ends) {
  std::vector<std::string> told;
  std::mutex mutex;
  auto exporter = SpanExporter::start({.endpoint = "http://127.0.0.1:1"}, "0", [&](const std::string& line) {
    const std::lock_guard lock(mutex);
    told.push_back(line);
  });
  ASSERT_TRUE(exporter);
  Event event;
  event.kind = Event::Kind::job_closed;
  event.status = JobStatus::completed;
  for (std::uint64_t run = 1; run <= 10'000; ++run) {
    event.run = RunId(run);
    (*exporter)->add(event);
  }
  (*exporter)->close();
  EXPECT_EQ((*exporter)->sent(), 0u);
  EXPECT_EQ((*exporter)->dropped(), 10'000u);
  EXPECT_FALSE(told.empty());
}

TEST(SpanExporter, needs_an_address) { EXPECT_FALSE(SpanExporter::start({.endpoint = "collector"}, "0", {})); }

TEST_F(TraceTest, a_cancelled_job_undoes_what_it_did) {
  serve("");
  const auto started = ask("/v1/jobs", R"({"graph":"shop.bought","id":"c-1","input":{"cents":5,"sleep":3600}})", 201);
  for (int i = 0; i < 1000; ++i) {
    const auto job = ask("/v1/jobs/c-1", "", 200);
    if (job.at("activities").as_array().size() >= 4) break;
    std::this_thread::sleep_for(10ms);
  }
  ask("/v1/jobs/c-1/cancel", R"({"reason":"the customer left"})", 200);
  const auto ended = ask("/v1/jobs/c-1/result?timeout=20s", "", 200);
  const auto job = ask("/v1/jobs/c-1", "", 200);
  EXPECT_EQ(text(job, "status"), "interrupted");
  EXPECT_EQ(text(job, "reason"), "the customer left");
  const auto& activities = job.at("activities").as_array();
  EXPECT_TRUE(std::any_of(activities.begin(), activities.end(), [](const json::value& one) {
    return one.at("name") == "refund" && one.at("status") == "completed";
  }));
  ask("/v1/jobs/c-1/cancel", "{}", 400);
}

}  // namespace
}  // namespace pawl::serve
