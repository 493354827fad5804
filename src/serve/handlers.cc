#include "serve/handlers.h"

#include <charconv>
#include <chrono>
#include <utility>

#include "base/format.h"
#include "base/limits.h"
#include "base/trace_context.h"
#include "serve/filter_query.h"
#include "serve/job_json.h"

namespace pawl::serve {

void answer(const ExchangePointer& exchange, std::string json, int status) {
  exchange->respond({status, "application/json", std::move(json)});
}

void answer_ok(const ExchangePointer& exchange) { answer(exchange, "{\"ok\":true}"); }

std::optional<RunId> read_run(std::string_view text) {
  std::uint64_t run = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), run);
  const bool whole = !text.empty() && read.ec == std::errc() && read.ptr == text.data() + text.size();
  return whole && run != 0 ? std::optional(RunId(run)) : std::nullopt;
}

std::optional<RunId> run_meant(Site& site, const Request& request, const ExchangePointer& exchange) {
  if (const auto text = request.asked("run")) {
    if (const auto run = read_run(*text)) return run;
    exchange->respond(problem("invalid", "run: it is the number of a run", "run"));
    return std::nullopt;
  }
  const std::string& id = request.captured_as("id");
  const std::string name_space = request.asked("namespace").value_or("default");
  const auto found = site.runtime.find(id, {name_space});
  if (!found) return exchange->respond(problem(found.error())), std::nullopt;
  if (!*found)
    return exchange->respond(problem("not_found", format("there is no job {} in namespace {}", id, name_space))),
           std::nullopt;
  return **found;
}

runtime::JobRequest start_in(Fields& fields) {
  runtime::JobRequest request;
  request.graph = fields.needed("graph");
  request.input = fields.payload("input");
  if (request.input.empty()) request.input = Payload("{}");
  StartOptions& options = request.options;
  options.id = fields.text("id");
  options.name_space = fields.text("namespace", "default");
  const std::string reuse = fields.one_of("reuse", {"attach", "reject", "after_close", "replace"}, "attach");
  options.reuse = reuse == "reject"        ? IdReuse::reject
                  : reuse == "after_close" ? IdReuse::after_close
                  : reuse == "replace"     ? IdReuse::replace
                                           : IdReuse::attach;
  options.delay = fields.time("delay").value_or(Duration{0});
  options.end_within = fields.time("end_within").value_or(Duration{0});
  options.keep = fields.time("keep");
  options.priority =
      static_cast<std::int32_t>(fields.number("priority", -pawl::limits::priority_max, pawl::limits::priority_max, 0));
  options.when_full = WhenFull::refuse;
  if (const std::string parent = fields.text("traceparent"); !parent.empty()) {
    const auto trace = read_trace(parent, fields.text("tracestate"));
    if (!trace) fields.wrong("traceparent", "it is no W3C trace context (00-TRACE-SPAN-FLAGS)");
    if (trace) options.trace = trace->text();
  }
  return request;
}

std::string started_json(const runtime::JobRequest& request, const runtime::Submission& started) {
  return pawl::started_json(request.options.name_space, request.options.id, started.run, started.created);
}

Instant clock_now() { return Instant(std::chrono::system_clock::now()); }

std::optional<JobFilter> filter_meant(const Request& request, const ExchangePointer& exchange) {
  auto filter = read_filter(request.query, clock_now());
  if (filter) return std::move(*filter);
  exchange->respond(problem(filter.error()));
  return std::nullopt;
}

}  // namespace pawl::serve
