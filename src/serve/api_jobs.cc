// Routes that read jobs.
#include <algorithm>
#include <utility>

#include "base/format.h"
#include "base/utf8.h"
#include "graph/check.h"
#include "graph/draw/draw.h"
#include "mapping/json_text.h"
#include "serve/handlers.h"
#include "serve/history.h"
#include "serve/job_json.h"
#include "serve/job_version.h"
#include "serve/json_fields.h"
#include "serve/limits.h"
#include "serve/picture.h"

namespace pawl::serve {

namespace {

namespace json = boost::json;

void list_jobs(Site& site, const Request& request, const ExchangePointer& exchange) {
  auto filter = filter_meant(request, exchange);
  if (!filter) return;
  Query query(request);
  filter->after = query.text("after");
  filter->rows_max = static_cast<std::uint32_t>(query.number("limit", 1, limits::page_rows_max, 100));
  if (const auto& mistake = query.mistake()) return exchange->respond(problem(*mistake));
  const auto jobs = site.runtime.list(*filter);
  if (!jobs) return exchange->respond(problem(jobs.error()));
  std::string body = "{\"jobs\":" + jobs_json(*jobs) + ",\"next\":";
  if (jobs->size() < filter->rows_max)
    body += "null";
  else
    mapping::append_json_string(body, jobs->back().cursor);
  answer(exchange, body + "}");
}

// State by state: stores count a state at once.
void count_jobs(Site& site, const Request& request, const ExchangePointer& exchange) {
  auto filter = filter_meant(request, exchange);
  if (!filter) return;
  JobStatuses meant = filter->status;
  if (meant.empty()) meant.assign(job_states.begin(), job_states.end());
  std::uint64_t total = 0;
  json::object states;
  for (const JobStatus status : meant) {
    if (states.contains(name_of(status))) continue;
    filter->status = status;
    const auto jobs = site.runtime.count(*filter);
    if (!jobs) return exchange->respond(problem(jobs.error()));
    if (*jobs > 0) states[name_of(status)] = *jobs;
    total += *jobs;
  }
  answer(exchange, json::serialize(json::object{{"total", total}, {"states", std::move(states)}}));
}

Result<std::string> version_of(Site& site, const JobView& job) {
  const auto apps = site.runtime.apps();
  if (!apps) return apps.error();
  return version_name(*apps, job);
}

void get_job(Site& site, const Request& request, const ExchangePointer& exchange) {
  const auto run = run_meant(site, request, exchange);
  if (!run) return;
  const auto detail = site.runtime.inspect(*run);
  if (!detail) return exchange->respond(problem(detail.error()));
  const auto version = version_of(site, detail->job);
  if (!version) return exchange->respond(problem(version.error()));
  answer(exchange, job_json(*detail, *version));
}

bool has_ended(const JobView& job) { return job.closed() || job.status == JobStatus::parked; }

void job_result(Site& site, const Request& request, const ExchangePointer& exchange) {
  Query query(request);
  const Duration wait = std::min<Duration>(query.time("timeout").value_or(Duration{0}), limits::wait_max);
  if (const auto& mistake = query.mistake()) return exchange->respond(problem(*mistake));
  const auto run = run_meant(site, request, exchange);
  if (!run) return;
  const auto as_it_stands = [&site, run = *run, exchange] {
    const auto view = site.runtime.read(run);
    if (!view) return exchange->respond(problem(view.error()));
    answer(exchange, job_json(*view), has_ended(*view) ? 200 : 202);
  };
  if (wait == Duration{0}) return as_it_stands();
  const bool waits =
      site.ends.wait(*run, wait, exchange, [&site, exchange, as_it_stands](std::optional<Result<JobView>> end) {
        if (!end) return site.crew.finish(as_it_stands);
        if (!*end) return exchange->respond(problem(end->error()));
        answer(exchange, job_json(**end));
      });
  if (!waits) exchange->respond(problem("too_many_streams", "too many requests wait already (waiting_max)"));
}

// How the first one stands, and the others that have ended, as far as they fit.
Result<std::string> results_json(Site& site, const std::vector<RunId>& runs) {
  std::string body = "{\"jobs\":[";
  for (std::size_t i = 0; i < runs.size() && body.size() < limits::results_bytes_max; ++i) {
    // The others as a wait would report them: with all that belongs to their ends.
    const auto view = i == 0 ? site.runtime.read(runs[i]) : site.runtime.wait(runs[i], Duration{0});
    if (!view && i == 0) return view.error();
    if (!view) continue;
    if (i > 0) body += ",";
    body += job_json(*view);
  }
  return body + "]}";
}

void job_results(Site& site, const Request& request, const ExchangePointer& exchange) {
  Fields fields(request.body);
  const Duration wait = std::min<Duration>(fields.time("timeout").value_or(Duration{0}), limits::wait_max);
  std::vector<RunId> runs;
  for (const std::string& text : fields.texts("runs", limits::results_max)) {
    const auto run = read_run(text);
    if (!run) fields.wrong("runs", "they are numbers of runs");
    runs.push_back(run.value_or(RunId(0)));
  }
  if (runs.empty()) fields.wrong("runs", "name at least one run");
  if (const auto& mistake = fields.mistake()) return exchange->respond(problem(*mistake));
  const auto respond = [&site, exchange, runs] {
    auto body = results_json(site, runs);
    if (!body) return exchange->respond(problem(body.error()));
    answer(exchange, std::move(*body));
  };
  if (wait == Duration{0}) return respond();
  const bool waits = site.ends.wait(runs.front(), wait, exchange, [&site, respond](std::optional<Result<JobView>>) {
    site.crew.finish(respond);
  });
  if (!waits) exchange->respond(problem("too_many_streams", "too many requests wait already (waiting_max)"));
}

void job_history(Site& site, const Request& request, const ExchangePointer& exchange) {
  const auto run = run_meant(site, request, exchange);
  if (!run) return;
  const auto detail = site.runtime.inspect(*run);
  if (!detail) return exchange->respond(problem(detail.error()));
  const auto version = version_of(site, detail->job);
  if (!version) return exchange->respond(problem(version.error()));
  AnnouncementFilter announced;
  announced.run = *run;
  announced.rows_max = limits::page_rows_max;
  const auto announcements = site.runtime.announcements(announced);
  if (!announcements) return exchange->respond(problem(announcements.error()));
  json::array events = history_array(history_of(*detail, *announcements, *version), HistoryData::leave_out);
  answer(exchange, printable_json(json::serialize(json::object{{"events", std::move(events)}})));
}

void export_job(Site& site, const Request& request, const ExchangePointer& exchange) {
  Query query(request);
  const bool children = query.truth("children", false);
  if (const auto& mistake = query.mistake()) return exchange->respond(problem(*mistake));
  const auto run = run_meant(site, request, exchange);
  if (!run) return;
  const auto detail = site.runtime.inspect(*run);
  if (!detail) return exchange->respond(problem(detail.error()));
  ReadChild read_child;
  if (children)
    read_child = [&](const std::string& name_space, const std::string& id) -> std::optional<JobDetail> {
      const auto child = site.runtime.find(id, {name_space});
      if (!child || !*child) return std::nullopt;
      auto whole = site.runtime.inspect(**child);
      return whole ? std::optional(std::move(*whole)) : std::nullopt;
    };
  answer(exchange, export_json(*detail, read_child));
}

void job_picture(Site& site, const Request& request, const ExchangePointer& exchange) {
  const auto run = run_meant(site, request, exchange);
  if (!run) return;
  const auto view = site.runtime.read(*run);
  if (!view) return exchange->respond(problem(view.error()));
  const auto version = version_of(site, *view);
  if (!version) return exchange->respond(problem(version.error()));
  const std::string& graph = view->graph.raw();
  const std::string app = runtime::app_of(view->graph);
  // The graph of an app that is named like its topic has that name alone.
  const std::string topic = app == graph ? app : graph.substr(app.size() + 1);
  auto drawn = draw_app(site.runtime, {app, *version}, topic, "svg");
  if (!drawn && drawn.error().code == ErrorCode::not_found)
    return exchange->respond(
        problem("unsupported", format("graph {} was built in C++ and is not in the store", graph)));
  exchange->respond(drawn ? std::move(*drawn) : problem(drawn.error()));
}

}  // namespace

void add_job_routes(Router& router, Site& site) {
  const auto add = [&](const char* pattern, auto handler) {
    router.add({"GET", pattern, [&site, handler](const Request& request, const ExchangePointer& exchange) {
                  handler(site, request, exchange);
                }});
  };
  add("/v1/jobs", list_jobs);
  add("/v1/jobs/count", count_jobs);
  add("/v1/jobs/{id}", get_job);
  add("/v1/jobs/{id}/result", job_result);
  add("/v1/jobs/{id}/history", job_history);
  add("/v1/jobs/{id}/export", export_job);
  add("/v1/jobs/{id}/picture", job_picture);
  router.add({"POST", "/v1/jobs/results", [&site](const Request& request, const ExchangePointer& exchange) {
                job_results(site, request, exchange);
              }});
}

}  // namespace pawl::serve
