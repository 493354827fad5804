#include "serve/store_json.h"

#include <array>
#include <utility>

#include "serve/job_json.h"
#include "serve/json_fields.h"

namespace pawl {

namespace {

namespace json = boost::json;

using serve::job_states;

json::value time_value(Instant at) { return at == Instant() ? json::value(nullptr) : json::value(time_text(at)); }

template <class Number>
json::value number_value(const std::optional<Number>& number) {
  return number ? json::value(*number) : json::value(nullptr);
}

json::array texts_array(const std::vector<std::string>& texts) {
  json::array all;
  for (const std::string& text : texts) all.emplace_back(text);
  return all;
}

json::object counts_object(const std::array<std::uint64_t, job_statuses>& jobs) {
  json::object object;
  for (const JobStatus status : job_states) object[name_of(status)] = jobs[static_cast<std::size_t>(status)];
  return object;
}

json::object topic_object(const TopicView& topic) {
  return {{"topic", topic.topic},
          {"ready", topic.ready},
          {"taken", topic.taken},
          {"later", topic.later},
          {"held", topic.held},
          {"since", time_value(topic.since)},
          {"servers", number_value(topic.servers)},
          {"paused", topic.paused},
          {"stuck", topic.stuck}};
}

}  // namespace

json::object survey_object(const Survey& survey) {
  json::array engines, graphs, errors, topics, oldest;
  for (const EngineView& engine : survey.engines)
    engines.push_back(json::object{{"name", engine.name},
                                   {"lanes", engine.lanes},
                                   {"leaving", engine.leaving},
                                   {"serves", texts_array(engine.serves)}});
  for (const GraphCount& graph : survey.graphs)
    graphs.push_back(json::object{{"graph", graph.graph.raw()}, {"jobs", counts_object(graph.jobs)}});
  for (const ErrorCount& error : survey.errors)
    errors.push_back(json::object{{"code", error.code},
                                  {"text", error.text},
                                  {"jobs", error.jobs},
                                  {"example", error.example.raw()},
                                  {"last", time_value(error.last)}});
  for (const TopicView& topic : survey.topics) topics.push_back(topic_object(topic));
  for (const WaitingJob& job : survey.oldest)
    oldest.push_back(json::object{{"id", job.id.raw()},
                                  {"run", run_text(job.run)},
                                  {"graph", job.graph.raw()},
                                  {"since", time_value(job.since)},
                                  {"activity", job.activity},
                                  {"waits_for", job.waits_for}});
  json::object settings;
  for (const auto& [name, value] : survey.store_settings) settings[name] = value;
  return {{"at", time_value(survey.at)},
          {"owner_alive", survey.owner_alive},
          {"engines", std::move(engines)},
          {"jobs", counts_object(survey.jobs)},
          {"graphs", std::move(graphs)},
          {"errors", std::move(errors)},
          {"topics", std::move(topics)},
          {"oldest", std::move(oldest)},
          {"store", json::object{{"name", survey.store},
                                 {"bytes", number_value(survey.store_bytes)},
                                 {"settings", std::move(settings)}}}};
}

json::object bulk_object(const BulkSummary& summary, bool dry_run) {
  json::array refused, first;
  std::uint64_t failed = 0;
  for (const BulkRefusal& one : summary.refused) {
    refused.push_back(json::object{{"why", one.why}, {"jobs", one.jobs}, {"example", one.example.raw()}});
    failed += one.jobs;
  }
  for (const JobView& job : summary.first)
    first.push_back(json::object{{"id", job.id.raw()},
                                 {"run", run_text(job.run)},
                                 {"status", json::string(name_of(job.status))},
                                 {"reason", job.reason}});
  return {{"dry_run", dry_run}, {"matched", summary.matched}, {"done", summary.done}, {"refused", std::move(refused)},
          {"failed", failed},   {"first", std::move(first)}};
}

json::array diagnoses_array(const std::vector<Diagnosis>& found) {
  using Grade = Diagnosis::Grade;
  json::array rows;
  for (const Diagnosis& one : found)
    rows.push_back(json::object{{"grade", one.grade == Grade::good      ? "good"
                                          : one.grade == Grade::warning ? "warning"
                                                                        : "bad"},
                                {"what", one.what},
                                {"advice", one.advice}});
  return rows;
}

json::object fate_object(const SignalFate& fate) {
  json::array reached;
  for (const JobId& job : fate.reaches) reached.emplace_back(job.raw());
  json::object object{{"ok", true}, {"kept", fate.reaches.empty()}, {"reached", std::move(reached)}};
  if (fate.kept > 0) object["before"] = fate.kept;
  return object;
}

namespace serve {

namespace {

std::array<std::uint64_t, job_statuses> read_counts(const json::object& object, std::string_view name) {
  std::array<std::uint64_t, job_statuses> counts{};
  if (const json::object* jobs = object_in(object, name))
    for (const JobStatus status : job_states)
      counts[static_cast<std::size_t>(status)] = number_in<std::uint64_t>(*jobs, name_of(status));
  return counts;
}

std::optional<std::uint64_t> read_some(const json::object& object, std::string_view name) {
  const json::value* value = object.if_contains(name);
  if (value == nullptr || !value->is_number()) return std::nullopt;
  return number_in<std::uint64_t>(object, name);
}

TopicView read_topic(const json::object& object) {
  TopicView topic{text_in(object, "topic"),
                  number_in<std::uint64_t>(object, "ready"),
                  number_in<std::uint64_t>(object, "taken"),
                  number_in<std::uint64_t>(object, "later"),
                  number_in<std::uint64_t>(object, "held"),
                  time_in(object, "since"),
                  std::nullopt,
                  truth_in(object, "paused"),
                  truth_in(object, "stuck")};
  if (const auto servers = read_some(object, "servers")) topic.servers = static_cast<std::uint32_t>(*servers);
  return topic;
}

EngineView read_engine(const json::object& object) {
  EngineView engine{text_in(object, "name")};
  each_in(object, "serves", [&](const json::value& one) {
    if (one.is_string()) engine.serves.emplace_back(one.get_string());
  });
  engine.lanes = number_in<std::uint32_t>(object, "lanes");
  engine.leaving = truth_in(object, "leaving");
  return engine;
}

}  // namespace

Survey read_survey(const json::object& object) {
  Survey survey;
  survey.at = time_in(object, "at");
  survey.owner_alive = truth_in(object, "owner_alive");
  survey.jobs = read_counts(object, "jobs");
  each_object_in(object, "engines", [&](const json::object& one) { survey.engines.push_back(read_engine(one)); });
  each_object_in(object, "graphs", [&](const json::object& one) {
    survey.graphs.push_back({GraphName(text_in(one, "graph")), read_counts(one, "jobs")});
  });
  each_object_in(object, "errors", [&](const json::object& one) {
    survey.errors.push_back({number_in<std::int32_t>(one, "code"), text_in(one, "text"),
                             number_in<std::uint64_t>(one, "jobs"), JobId(text_in(one, "example")),
                             time_in(one, "last")});
  });
  each_object_in(object, "topics", [&](const json::object& one) { survey.topics.push_back(read_topic(one)); });
  each_object_in(object, "oldest", [&](const json::object& one) {
    survey.oldest.push_back({JobId(text_in(one, "id")), run_in(one), GraphName(text_in(one, "graph")),
                             time_in(one, "since"), text_in(one, "activity"), text_in(one, "waits_for")});
  });
  if (const json::object* store = object_in(object, "store")) {
    survey.store = text_in(*store, "name");
    survey.store_bytes = read_some(*store, "bytes");
    if (const json::object* settings = object_in(*store, "settings"))
      for (const auto& one : *settings)
        survey.store_settings.emplace_back(std::string(one.key()), text_in(*settings, one.key()));
  }
  return survey;
}

BulkSummary read_bulk(const json::object& object) {
  BulkSummary summary;
  summary.matched = number_in<std::uint64_t>(object, "matched");
  summary.done = number_in<std::uint64_t>(object, "done");
  each_object_in(object, "refused", [&](const json::object& one) {
    summary.refused.push_back(
        {text_in(one, "why"), number_in<std::uint64_t>(one, "jobs"), JobId(text_in(one, "example"))});
  });
  each_object_in(object, "first", [&](const json::object& one) { summary.first.push_back(read_job(one)); });
  return summary;
}

Diagnosis read_diagnosis(const json::object& object) {
  const std::string grade = text_in(object, "grade");
  return {grade == "good"      ? Diagnosis::Grade::good
          : grade == "warning" ? Diagnosis::Grade::warning
                               : Diagnosis::Grade::bad,
          text_in(object, "what"), text_in(object, "advice")};
}

SignalFate read_fate(const json::object& object) {
  SignalFate fate;
  each_in(object, "reached", [&](const json::value& one) {
    if (one.is_string()) fate.reaches.emplace_back(std::string(one.get_string()));
  });
  fate.kept = number_in<std::uint64_t>(object, "before");
  return fate;
}

}  // namespace serve
}  // namespace pawl
