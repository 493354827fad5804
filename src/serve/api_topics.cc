// Routes of topics and of workers.
#include <map>
#include <utility>

#include "base/utf8.h"
#include "serve/handlers.h"
#include "serve/job_json.h"

namespace pawl::serve {

namespace {

namespace json = boost::json;

// What the store knows of a topic beside what this server knows.
struct TopicRow {
  TopicFacts here;
  TopicView stored;
};

void list_topics(Site& site, const ExchangePointer& exchange) {
  const auto survey = site.runtime.survey({.errors_max = 0, .oldest_max = 0});
  if (!survey) return exchange->respond(problem(survey.error()));
  std::map<std::string, TopicRow> all;
  for (const TopicView& topic : survey->topics) all[topic.topic].stored = topic;
  for (TopicFacts& facts : site.desk.topics()) all[facts.topic].here = std::move(facts);
  for (const std::string& topic : site.facts.local_topics) all.try_emplace(topic);
  json::array topics;
  for (const auto& [name, row] : all)
    topics.push_back(json::object{
        {"topic", name},
        {"paused", row.stored.paused},
        {"workers", row.here.workers},
        {"waiting", row.here.waiting},
        {"out", row.here.out},
        {"backlog", row.stored.ready},
        {"oldest_waiting_at", row.stored.ready == 0 ? json::value(nullptr) : json::value(time_text(row.stored.since))},
        {"with_workers", row.stored.taken},
        {"later", row.stored.later},
        {"held", row.stored.held},
        {"servers", row.stored.servers ? json::value(*row.stored.servers) : json::value(nullptr)},
        // A worker that waits here would take it: then the look of a moment ago is no verdict.
        {"stuck", row.stored.stuck && row.here.waiting == 0},
        {"taken", row.here.taken},
        {"rate", row.here.rate},
        {"local", site.facts.local_topics.contains(name)}});
  answer(exchange, printable_json(json::serialize(json::object{{"topics", std::move(topics)}})));
}

void list_workers(Site& site, const ExchangePointer& exchange) {
  json::array workers;
  for (const WorkerFacts& facts : site.desk.workers()) {
    json::array topics;
    for (const std::string& topic : facts.topics) topics.emplace_back(topic);
    workers.push_back(json::object{{"worker", facts.worker},
                                   {"topics", std::move(topics)},
                                   {"out", facts.out},
                                   {"taken", facts.taken},
                                   {"completed", facts.completed},
                                   {"failed", facts.failed},
                                   {"seen_at", time_text(facts.seen_at)}});
  }
  answer(exchange, printable_json(json::serialize(json::object{{"workers", std::move(workers)}})));
}

}  // namespace

void add_topic_routes(Router& router, Site& site) {
  router.add(
      {"GET", "/v1/topics", [&site](const Request&, const ExchangePointer& exchange) { list_topics(site, exchange); }});
  router.add({"GET", "/v1/workers",
              [&site](const Request&, const ExchangePointer& exchange) { list_workers(site, exchange); }});
  router.add({"POST", "/v1/topics/{topic}/pause", [&site](const Request& request, const ExchangePointer& exchange) {
                const auto done = site.runtime.pause_topic(request.captured_as("topic"));
                if (!done) return exchange->respond(problem(done.error()));
                answer_ok(exchange);
              }});
  router.add({"POST", "/v1/topics/{topic}/resume", [&site](const Request& request, const ExchangePointer& exchange) {
                const auto done = site.runtime.resume_topic(request.captured_as("topic"));
                if (!done) return exchange->respond(problem(done.error()));
                site.desk.wake_all();
                answer_ok(exchange);
              }});
}

}  // namespace pawl::serve
