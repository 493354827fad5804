// Routes about the server itself: health, figures, the API's document, the pages of errors, and the page to look at.
#include <array>
#include <fstream>
#include <iterator>
#include <utility>

#include "base/format.h"
#include "base/utf8.h"
#include "serve/embedded.h"
#include "serve/handlers.h"
#include "serve/job_json.h"
#include "serve/limits.h"
#include "serve/store_json.h"

namespace pawl::serve {

namespace {

namespace json = boost::json;

bool has_owner(Site& site) {
  if (site.runtime.owns()) return true;
  const auto found = site.runtime.has_owner();
  return found && *found;
}

void health(Site& site, const Request&, const ExchangePointer& exchange) {
  answer(exchange, json::serialize(json::object{{"status", site.stopping ? "stopping" : "ok"},
                                                {"version", site.facts.version},
                                                {"server", site.facts.server},
                                                {"store", json::object{{"kind", site.facts.store_kind},
                                                                       {"name", site.facts.store},
                                                                       {"promise", site.facts.promise}}},
                                                {"runs_jobs", site.runtime.owns()},
                                                {"has_owner", has_owner(site)},
                                                {"started_at", time_text(site.facts.started_at)},
                                                {"limits", json::object{{"connections_max", limits::connections_max},
                                                                        {"body_bytes_max", limits::body_bytes_max},
                                                                        {"header_bytes_max", limits::header_bytes_max},
                                                                        {"streams_max", limits::streams_max},
                                                                        {"waiting_max", limits::waiting_max}}}}));
}

void status(Site& site, const Request& request, const ExchangePointer& exchange) {
  Query query(request);
  SurveyOptions options;
  options.errors_max =
      static_cast<std::uint32_t>(query.number("errors", 0, limits::survey_rows_max, options.errors_max));
  options.oldest_max =
      static_cast<std::uint32_t>(query.number("oldest", 0, limits::survey_rows_max, options.oldest_max));
  if (const auto& mistake = query.mistake()) return exchange->respond(problem(*mistake));
  const auto survey = site.runtime.survey(options);
  if (!survey) return exchange->respond(problem(survey.error()));
  answer(exchange, printable_json(json::serialize(survey_object(*survey))));
}

void doctor(Site& site, const Request&, const ExchangePointer& exchange) {
  const auto found = site.runtime.diagnose();
  if (!found) return exchange->respond(problem(found.error()));
  answer(exchange, printable_json(json::serialize(json::object{{"findings", diagnoses_array(*found)}})));
}

void ready(Site& site, const Request&, const ExchangePointer& exchange) {
  if (site.stopping) return exchange->respond(problem("stopping", "this server stops"));
  // A read that every store answers quickly.
  if (const auto paused = site.runtime.paused_topics(); !paused) return exchange->respond(problem(paused.error()));
  answer_ok(exchange);
}

void error_page(Site&, const Request& request, const ExchangePointer& exchange) {
  std::string page = problem_page(request.captured_as("code"));
  if (page.empty()) return exchange->respond(problem("not_found", "there is no such error code"));
  exchange->respond({200, "text/html; charset=utf-8", std::move(page)});
}

std::string tag_of(std::string_view bytes) {
  std::uint64_t hash = 1469598103934665603u;
  for (const char c : bytes) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211u;
  return format("\"{:x}\"", hash);
}

std::string_view type_of(std::string_view name) {
  if (name.ends_with(".html")) return "text/html; charset=utf-8";
  if (name.ends_with(".js")) return "text/javascript; charset=utf-8";
  if (name.ends_with(".css")) return "text/css; charset=utf-8";
  return {};
}

// Only names of files that were built in: no path leads elsewhere.
void page(Site& site, const std::string& name, const Request& request, const ExchangePointer& exchange) {
  std::string bytes(type_of(name).empty() ? std::string_view() : embedded(name));
  if (!bytes.empty() && !site.facts.page_folder.empty()) {
    std::ifstream stream(site.facts.page_folder + "/" + name, std::ios::binary);
    bytes.assign(std::istreambuf_iterator<char>(stream), {});
  }
  if (bytes.empty()) return exchange->respond(problem("not_found", format("the page has no file {}", name)));
  const std::string tag = tag_of(bytes);
  Response response{200, std::string(type_of(name)), std::move(bytes)};
  response.headers = {
      {"ETag", tag},
      {"Cache-Control", "no-cache"},
      // The page loads nothing from elsewhere, and nobody may put it into a frame.
      {"Content-Security-Policy",
       "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
       "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"}};
  if (const std::string* known = request.header("if-none-match"); known != nullptr && *known == tag) {
    response.status = 304;
    response.body.clear();
  }
  exchange->respond(std::move(response));
}

}  // namespace

void add_server_routes(Router& router, Site& site) {
  const auto add = [&](const char* pattern, auto handler, bool open) {
    router.add({"GET", pattern,
                [&site, handler](const Request& request, const ExchangePointer& exchange) {
                  handler(site, request, exchange);
                },
                open});
  };
  add("/health", health, true);
  add(
      "/health/live", [](Site&, const Request&, const ExchangePointer& exchange) { answer_ok(exchange); }, true);
  add("/health/ready", ready, true);
  add("/v1/status", status, false);
  add("/v1/doctor", doctor, false);
  add("/errors/{code}", error_page, true);
  add(
      "/v1/openapi.json",
      [](Site&, const Request&, const ExchangePointer& exchange) {
        answer(exchange, std::string(embedded("openapi.json")));
      },
      true);
}

void add_page_routes(Router& router, Site& site) {
  router.add({"GET", "/",
              [&site](const Request& request, const ExchangePointer& exchange) {
                page(site, "index.html", request, exchange);
              },
              true});
  router.add({"GET", "/page/{file}",
              [&site](const Request& request, const ExchangePointer& exchange) {
                page(site, request.captured_as("file"), request, exchange);
              },
              true});
}

}  // namespace pawl::serve
