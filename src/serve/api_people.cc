// Routes for people who look after a store: signals that are kept, rules of retention, tasks.
#include <utility>

#include "base/format.h"
#include "serve/handlers.h"
#include "serve/limits.h"
#include "serve/parse_time.h"
#include "serve/people_json.h"

namespace pawl::serve {

namespace {

namespace json = boost::json;

// A page, and where the next one begins.
template <class View>
void answer_page(const ExchangePointer& exchange, std::string_view name, const std::vector<View>& views,
                 std::size_t rows_max) {
  json::array rows;
  for (const View& one : views) rows.push_back(json_of(one));
  json::object page{{name, std::move(rows)}, {"next", nullptr}};
  if (views.size() >= rows_max && !views.empty()) page["next"] = views.back().cursor;
  answer(exchange, json::serialize(page));
}

void answer_status(const ExchangePointer& exchange, const Status& done) {
  if (done) return answer_ok(exchange);
  exchange->respond(problem(done.error()));
}

// --- signals that are kept

void list_signals(Site& site, const Request& request, const ExchangePointer& exchange) {
  Query query(request);
  KeptSignalFilter filter;
  filter.topic = query.text("topic");
  filter.name_space = query.text("namespace");
  filter.after = query.text("after");
  filter.rows_max = static_cast<std::uint32_t>(query.number("limit", 1, limits::page_rows_max, 100));
  if (const std::string until = query.text("until"); !until.empty()) {
    const auto at = parse_time("until", until, std::chrono::system_clock::now());
    if (!at) return exchange->respond(problem(at.error(), "until"));
    filter.until = *at;
  }
  if (const auto& mistake = query.mistake()) return exchange->respond(problem(*mistake));
  const auto kept = site.runtime.kept_signals(filter);
  if (!kept) return exchange->respond(problem(kept.error()));
  answer_page(exchange, "signals", *kept, filter.rows_max);
}

void drop_signal(Site& site, const Request& request, const ExchangePointer& exchange) {
  answer_status(exchange, site.runtime.drop_signal(request.captured_as("id")));
}

void drop_signals(Site& site, const Request& request, const ExchangePointer& exchange) {
  Fields fields(request.body);
  KeptSignalFilter filter;
  filter.topic = fields.text("topic");
  filter.name_space = fields.text("namespace");
  const std::string until = fields.text("until");
  if (const auto& mistake = fields.mistake()) return exchange->respond(problem(*mistake));
  if (!until.empty()) {
    const auto at = parse_time("until", until, std::chrono::system_clock::now());
    if (!at) return exchange->respond(problem(at.error(), "until"));
    filter.until = *at;
  }
  const auto dropped = site.runtime.drop_signals(filter);
  if (!dropped) return exchange->respond(problem(dropped.error()));
  answer(exchange, json::serialize(json::object{{"dropped", *dropped}}));
}

// --- rules of retention

std::optional<JobStatus> ended_status(const std::string& word) {
  for (const JobStatus status : {JobStatus::completed, JobStatus::failed, JobStatus::interrupted})
    if (name_of(status) == word) return status;
  return std::nullopt;
}

void list_rules(Site& site, const Request&, const ExchangePointer& exchange) {
  const auto rules = site.runtime.retention();
  if (!rules) return exchange->respond(problem(rules.error()));
  json::array rows;
  for (const RetentionRule& rule : *rules) rows.push_back(json_of(rule));
  answer(exchange, json::serialize(json::object{{"rules", std::move(rows)}}));
}

void set_rule(Site& site, const Request& request, const ExchangePointer& exchange) {
  Fields fields(request.body);
  RetentionRule rule;
  rule.status = ended_status(fields.one_of("status", {"", "completed", "failed", "interrupted"}, ""));
  rule.graph = fields.text("graph");
  rule.keep = fields.time("keep");
  if (fields.truth("forever", false) == rule.keep.has_value())
    fields.wrong("keep", "say how long, such as 30d, or forever: true");
  if (const auto& mistake = fields.mistake()) return exchange->respond(problem(*mistake));
  answer_status(exchange, site.runtime.set_retention(rule));
}

void drop_rule(Site& site, const Request& request, const ExchangePointer& exchange) {
  Query query(request);
  RetentionRule rule;
  const std::string status = query.text("status");
  rule.status = ended_status(status);
  rule.graph = query.text("graph");
  if (!status.empty() && !rule.status) query.wrong("status", "use completed, failed or interrupted");
  if (const auto& mistake = query.mistake()) return exchange->respond(problem(*mistake));
  answer_status(exchange, site.runtime.drop_retention(rule));
}

void apply_rules(Site& site, const Request& request, const ExchangePointer& exchange) {
  Fields fields(request.body);
  RetentionOptions options;
  options.dry_run = fields.truth("dry_run", false);
  if (const auto& mistake = fields.mistake()) return exchange->respond(problem(*mistake));
  const auto done = site.runtime.apply_retention(options);
  if (!done) return exchange->respond(problem(done.error()));
  answer(exchange,
         json::serialize(json::object{{"dry_run", options.dry_run}, {"removed", done->removed}, {"left", done->left}}));
}

// --- tasks

void list_tasks(Site& site, const Request& request, const ExchangePointer& exchange) {
  Query query(request);
  TaskFilter filter;
  filter.role = query.text("role");
  filter.type = query.text("type");
  filter.claimed_by = query.text("claimed_by");
  filter.unclaimed = query.truth("unclaimed", false);
  filter.graph = query.text("graph");
  filter.name_space = query.text("namespace");
  filter.job = query.text("job");
  filter.after = query.text("after");
  filter.rows_max = static_cast<std::uint32_t>(query.number("limit", 1, limits::page_rows_max, 100));
  if (const auto& mistake = query.mistake()) return exchange->respond(problem(*mistake));
  const auto tasks = site.runtime.tasks(filter);
  if (!tasks) return exchange->respond(problem(tasks.error()));
  answer_page(exchange, "tasks", *tasks, filter.rows_max);
}

void claim_task(Site& site, const Request& request, const ExchangePointer& exchange) {
  Fields fields(request.body);
  const std::string who = fields.needed("who");
  const Duration time = fields.time("time").value_or(std::chrono::minutes(30));
  if (const auto& mistake = fields.mistake()) return exchange->respond(problem(*mistake));
  answer_status(exchange, site.runtime.claim_task(request.captured_as("id"), who, time));
}

void release_task(Site& site, const Request& request, const ExchangePointer& exchange) {
  Fields fields(request.body);
  const std::string who = fields.needed("who");
  if (const auto& mistake = fields.mistake()) return exchange->respond(problem(*mistake));
  answer_status(exchange, site.runtime.release_task(request.captured_as("id"), who));
}

void resolve_task(Site& site, const Request& request, const ExchangePointer& exchange) {
  Fields fields(request.body);
  ResolveOptions options;
  options.who = fields.text("who");
  options.code = static_cast<std::int32_t>(fields.number("code", 100, 999, 200));
  const Payload data = fields.payload("data");
  if (const auto& mistake = fields.mistake()) return exchange->respond(problem(*mistake));
  answer_status(exchange,
                site.runtime.resolve_task(request.captured_as("id"), data.empty() ? Payload("{}") : data, options));
}

}  // namespace

void add_people_routes(Router& router, Site& site) {
  const auto add = [&](const char* method, const char* pattern, auto handler) {
    router.add({method, pattern, [&site, handler](const Request& request, const ExchangePointer& exchange) {
                  handler(site, request, exchange);
                }});
  };
  add("GET", "/v1/signals", list_signals);
  add("POST", "/v1/signals/drop", drop_signals);
  add("DELETE", "/v1/signals/{id}", drop_signal);
  add("GET", "/v1/retention", list_rules);
  add("PUT", "/v1/retention", set_rule);
  add("DELETE", "/v1/retention", drop_rule);
  add("POST", "/v1/retention/apply", apply_rules);
  add("GET", "/v1/tasks", list_tasks);
  add("POST", "/v1/tasks/{id}/claim", claim_task);
  add("POST", "/v1/tasks/{id}/release", release_task);
  add("POST", "/v1/tasks/{id}/resolve", resolve_task);
}

}  // namespace pawl::serve
