// Routes that start jobs.
#include <charconv>
#include <memory>
#include <utility>
#include <vector>

#include "base/entropy.h"
#include "base/format.h"
#include "base/trace_context.h"
#include "serve/handlers.h"
#include "serve/job_json.h"
#include "serve/limits.h"

namespace pawl::serve {

namespace {

using runtime::JobRequest;
using runtime::Submission;

Response started(const JobRequest& request, const Submission& submission) {
  return {submission.created ? 201 : 200, "application/json", started_json(request, submission)};
}

// The same answer with how the job stands.
Response with_job(const JobRequest& request, const Submission& submission, const JobView& job) {
  Response response = started(request, submission);
  response.body.pop_back();
  response.body += ",\"job\":" + job_json(job) + "}";
  return response;
}

void wait_for_end(Site& site, const JobRequest& request, const Submission& submission, Duration wait,
                  const ExchangePointer& exchange) {
  const bool waits = site.ends.wait(
      submission.run, wait, exchange, [&site, request, submission, exchange](std::optional<Result<JobView>> end) {
        if (end && *end) return exchange->respond(with_job(request, submission, **end));
        // The job is durable, whatever became of the wait.
        site.crew.finish([&site, request, submission, exchange] {
          const auto view = site.runtime.read(submission.run);
          exchange->respond(view ? with_job(request, submission, *view) : started(request, submission));
        });
      });
  if (!waits) exchange->respond(started(request, submission));
}

std::optional<TraceContext> fresh_trace() {
  const auto drawn = draw_entropy();
  if (!drawn || drawn->high == 0) return std::nullopt;
  return TraceContext{drawn->high, drawn->low, drawn->high};
}

// A header that is no trace context counts as none, as the standard asks. Where spans are reported, every job has a
// trace: so the jobs that it starts belong to it.
void add_trace(const Site& site, const Request& request, StartOptions& options) {
  auto trace = read_trace(options.trace);
  if (const std::string* parent = request.header("traceparent"); !trace && parent != nullptr) {
    const std::string* state = request.header("tracestate");
    trace = read_trace(*parent, state == nullptr ? "" : *state);
  }
  if (site.spans != nullptr) {
    const bool with_caller = trace.has_value();
    if (!with_caller) trace = fresh_trace();
    if (trace) trace->mark_reported(with_caller);
  }
  if (trace) options.trace = trace->text();
}

void start(Site& site, const Request& request, const ExchangePointer& exchange) {
  Fields fields(request.body);
  JobRequest job = start_in(fields);
  Query query(request);
  const auto wait = query.time("wait");
  if (const std::string* key = request.header("idempotency-key"); key != nullptr && job.options.id.empty())
    job.options.id = *key;
  add_trace(site, request, job.options);
  if (const auto& mistake = fields.mistake()) return exchange->respond(problem(*mistake));
  if (const auto& mistake = query.mistake()) return exchange->respond(problem(*mistake));
  auto kept = std::make_shared<JobRequest>(job);
  site.runtime.start_async(job, [&site, kept, wait, exchange](const std::string& id, Result<Submission> submission) {
    if (!submission) return exchange->respond(problem(submission.error()));
    kept->options.id = id;
    kept->input = {};
    if (!wait) return exchange->respond(started(*kept, *submission));
    wait_for_end(site, *kept, *submission, std::min<Duration>(*wait, limits::wait_max), exchange);
  });
}

// Lines of a request, the empty ones left out.
std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    std::string_view line = text.substr(0, end);
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (line.find_first_not_of(" \t") != std::string_view::npos) lines.push_back(line);
    if (end == std::string_view::npos) break;
    text.remove_prefix(end + 1);
  }
  return lines;
}

// All of them are on their way at once, and share commits.
void start_many(Site& site, const Request& request, const ExchangePointer& exchange) {
  const auto lines = lines_of(request.body);
  if (lines.size() > limits::batch_lines_max)
    return exchange->respond(problem("over_limit", format("{} lines; one request has at most {} (batch_lines_max)",
                                                          lines.size(), limits::batch_lines_max)));
  std::vector<Result<JobRequest>> requests;
  requests.reserve(lines.size());
  for (const std::string_view line : lines) {
    Fields fields(line);
    JobRequest job = start_in(fields);
    job.options.when_full = WhenFull::wait;
    add_trace(site, request, job.options);
    if (const auto& mistake = fields.mistake())
      requests.push_back(mistake->error);
    else
      requests.push_back(std::move(job));
  }
  const auto submissions = site.runtime.start_many(requests);
  std::string body;
  for (std::size_t i = 0; i < submissions.size(); ++i) {
    if (submissions[i])
      body += started_json(*requests[i], *submissions[i]) + "\n";
    else
      body += "{\"problem\":" + problem_json(submissions[i].error()) + "}\n";
  }
  exchange->respond({200, "application/x-ndjson", std::move(body)});
}

void rerun(Site& site, const Request& request, const ExchangePointer& exchange) {
  Fields fields(request.body);
  RerunOptions options{.id = fields.text("id"), .input = {}, .from = fields.text("from")};
  if (fields.has("input")) options.input = fields.payload("input");
  if (const auto& mistake = fields.mistake()) return exchange->respond(problem(*mistake));
  const auto run = run_meant(site, request, exchange);
  if (!run) return;
  const auto made = site.runtime.rerun(*run, options);
  if (!made) return exchange->respond(problem(made.error()));
  const auto view = site.runtime.read(made->first);
  if (!view) return exchange->respond(problem(view.error()));
  answer(exchange, pawl::started_json(view->name_space.raw(), made->second, made->first, true), 201);
}

}  // namespace

void add_start_routes(Router& router, Site& site) {
  const auto add = [&](const char* pattern, auto handler) {
    router.add({"POST", pattern, [&site, handler](const Request& request, const ExchangePointer& exchange) {
                  handler(site, request, exchange);
                }});
  };
  add("/v1/jobs", start);
  add("/v1/jobs/batch", start_many);
  add("/v1/jobs/{id}/rerun", rerun);
}

}  // namespace pawl::serve
