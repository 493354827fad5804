// RemoteRuntime: jobs, signals, topics, and what is asked of the whole store.
#include <algorithm>
#include <chrono>
#include <iterator>
#include <utility>

#include "mapping/json_text.h"
#include "serve/filter_query.h"
#include "serve/json_fields.h"
#include "serve/limits.h"
#include "serve/remote_runtime.h"
#include "serve/remote_text.h"
#include "serve/store_json.h"

namespace pawl::serve {

namespace {

namespace json = boost::json;

constexpr Duration slack = std::chrono::seconds(10);  // beyond the time that the server may take
constexpr Duration whole_store_max = std::chrono::minutes(30);

json::object signal_object(const std::string& topic, const Payload& data, const SignalOptions& options) {
  json::object object{{"topic", topic}, {"data", json_of(data)}, {"pending", options.pending}};
  if (options.code != 0) object["code"] = options.code;
  if (!options.id.empty()) object["id"] = options.id;
  return object;
}

json::object redrive_object(const RedriveOptions& options) {
  json::object object;
  if (!options.answer) return object;
  object["answer"] = json_of(*options.answer);
  object["code"] = options.code;
  return object;
}

}  // namespace

// One that was started with others is asked for together with those that are waited for next.
Result<JobView> RemoteRuntime::ask_for_end(RunId run, Duration at_most) {
  const std::vector<RunId> others = ends_ahead_.next(run);
  if (others.empty()) {
    const auto object =
        ask_object({.target = TargetBuilder(job_path(run, "/result")).with("timeout", time_query(at_most)).text(),
                    .timeout = at_most + slack,
                    .repeatable = true});
    if (!object) return object.error();
    return read_job(*object);
  }
  json::array runs{json::string(run_text(run))};
  for (const RunId other : others) runs.emplace_back(run_text(other));
  auto jobs = views_in<JobView>(
      ask_object({.method = "POST",
                  .target = "/v1/jobs/results",
                  .body = mapping::json_text(json::object{{"runs", std::move(runs)}, {"timeout", time_query(at_most)}}),
                  .timeout = at_most + slack,
                  .repeatable = true}),
      "jobs", read_job);
  const bool is_there = jobs && !jobs->empty() && jobs->front().run == run;
  Result<JobView> job = Error{ErrorCode::invalid, "the server's answer is of another job"};
  if (!jobs) job = jobs.error();
  if (is_there) {
    job = std::move(jobs->front());
    jobs->erase(jobs->begin());
  }
  ends_ahead_.came(others, jobs ? std::move(*jobs) : std::vector<JobView>());
  return job;
}

Result<JobView> RemoteRuntime::wait(RunId run, Duration at_most) {
  if (auto known = ends_ahead_.take(run)) return std::move(*known);
  const auto begin = std::chrono::steady_clock::now();
  for (;;) {
    const auto passed = std::chrono::duration_cast<Duration>(std::chrono::steady_clock::now() - begin);
    const Duration left = std::clamp<Duration>(at_most - passed, Duration{0}, limits::wait_max);
    auto asked = ask_for_end(run, left);
    if (!asked) return asked.error();
    JobView& job = *asked;
    if (job.closed() || job.status == JobStatus::parked) return std::move(job);
    if (passed >= at_most) return Error{ErrorCode::retry_later, format("job {} has not ended yet", job.id.raw())};
  }
}

Result<std::optional<JobView>> RemoteRuntime::look_for_end(RunId run) {
  auto job = read(run);
  if (!job) return job.error();
  if (job->closed() || job->status == JobStatus::parked) return std::optional(std::move(*job));
  return std::optional<JobView>();
}

Result<std::optional<RunId>> RemoteRuntime::find(const std::string& id, const FindOptions& options) {
  const auto object = ask_object(
      {.target =
           TargetBuilder("/v1/jobs/" + percent_encoded(id) + "/result").with("namespace", options.name_space).text(),
       .repeatable = true});
  if (!object && object.error().code == ErrorCode::not_found) return std::optional<RunId>();
  if (!object) return object.error();
  return std::optional(read_job(*object).run);
}

Result<JobView> RemoteRuntime::read(RunId run) {
  const auto object = ask_object({.target = job_path(run, "/result"), .repeatable = true});
  if (!object) return object.error();
  return read_job(*object);
}

Result<JobDetail> RemoteRuntime::inspect(RunId run) {
  const auto object = ask_object({.target = job_path(run), .repeatable = true});
  if (!object) return object.error();
  return read_detail(*object);
}

Result<std::vector<JobView>> RemoteRuntime::list(const JobFilter& filter) {
  std::vector<JobView> jobs;
  std::string after = filter.after;
  const Pairs conditions = filter_query(filter);
  // A page of the API is smaller than one that an embedder may ask for.
  while (jobs.size() < filter.rows_max) {
    const std::size_t most = std::min<std::size_t>(filter.rows_max - jobs.size(), limits::page_rows_max);
    const std::string target = TargetBuilder("/v1/jobs")
                                   .with_all(conditions)
                                   .with_some("after", after)
                                   .with("limit", std::to_string(most))
                                   .text();
    auto page = views_in<JobView>(ask_object({.target = target, .repeatable = true}), "jobs", read_job);
    if (!page) return page.error();
    const bool last = page->size() < most;
    if (!page->empty()) after = page->back().cursor;
    std::move(page->begin(), page->end(), std::back_inserter(jobs));
    if (last) break;
  }
  return jobs;
}

Result<std::uint64_t> RemoteRuntime::count(const JobFilter& filter) {
  Pairs conditions = filter_query(filter);
  std::erase_if(conditions, [](const auto& one) { return one.first == "order" || one.first == "brief"; });
  const auto object = ask_object({.target = TargetBuilder("/v1/jobs/count").with_all(conditions).text(),
                                  .timeout = whole_store_max,
                                  .repeatable = true});
  if (!object) return object.error();
  return number_in<std::uint64_t>(*object, "total");
}

Result<std::vector<MeasureView>> RemoteRuntime::measures(const MeasureFilter& filter) {
  TargetBuilder target("/v1/measures");
  target.with("topic", filter.topic)
      .with("namespace", filter.name_space)
      .with_some("from", filter.from)
      .with_some("to", filter.to);
  if (filter.key) target.with("key", *filter.key);
  return views_in<MeasureView>(ask_object({.target = target.text(), .repeatable = true}), "measures", read_measure);
}

Result<std::vector<Announcement>> RemoteRuntime::announcements(const AnnouncementFilter& filter) {
  std::vector<Announcement> all;
  std::string after = filter.after;
  while (all.size() < filter.rows_max) {
    const std::size_t most = std::min<std::size_t>(filter.rows_max - all.size(), limits::page_rows_max);
    TargetBuilder target("/v1/announcements");
    target.with_some("topic", filter.topic).with_some("namespace", filter.name_space).with_some("after", after);
    if (filter.run != RunId(0)) target.with("run", run_text(filter.run));
    auto page = views_in<Announcement>(
        ask_object({.target = target.with("limit", std::to_string(most)).text(), .repeatable = true}), "announcements",
        read_announcement);
    if (!page) return page.error();
    const bool last = page->size() < most;
    if (!page->empty()) after = page->back().cursor;
    std::move(page->begin(), page->end(), std::back_inserter(all));
    if (last) break;
  }
  return all;
}

Status RemoteRuntime::signal(const std::string& topic, const Payload& data, const SignalOptions& options) {
  json::object object = signal_object(topic, data, options);
  object["namespace"] = options.name_space;
  return tell({.method = "POST",
               .target = "/v1/signals",
               .body = mapping::json_text(object),
               .repeatable = !options.id.empty()});
}

Result<SignalFate> RemoteRuntime::fate_of_signal(const std::string& topic, const Payload& data,
                                                 const std::string& name_space) {
  const json::object body{{"topic", topic}, {"data", json_of(data)}, {"namespace", name_space}, {"dry_run", true}};
  const auto object =
      ask_object({.method = "POST", .target = "/v1/signals", .body = mapping::json_text(body), .repeatable = true});
  if (!object) return object.error();
  return read_fate(*object);
}

Status RemoteRuntime::signal_job(RunId run, const std::string& topic, const Payload& data,
                                 const SignalOptions& options) {
  return tell({.method = "POST",
               .target = job_path(run, "/signal"),
               .body = mapping::json_text(signal_object(topic, data, options)),
               .repeatable = !options.id.empty()});
}

Status RemoteRuntime::verb(RunId run, const std::string& name, const json::object& body) {
  return tell({.method = "POST", .target = job_path(run, "/" + name), .body = mapping::json_text(body)});
}
Status RemoteRuntime::cancel(RunId run, const std::string& reason) { return verb(run, "cancel", {{"reason", reason}}); }
Status RemoteRuntime::interrupt(RunId run, const std::string& reason) {
  return verb(run, "interrupt", {{"reason", reason}});
}
Status RemoteRuntime::pause(RunId run, const std::string& reason) { return verb(run, "pause", {{"reason", reason}}); }
Status RemoteRuntime::resume(RunId run) { return verb(run, "resume", {}); }

Result<RunId> RemoteRuntime::redrive(RunId run, const RedriveOptions& options) {
  const auto object = ask_object(
      {.method = "POST", .target = job_path(run, "/redrive"), .body = mapping::json_text(redrive_object(options))});
  if (!object) return object.error();
  return run_in(*object);
}

Result<std::pair<RunId, std::string>> RemoteRuntime::rerun(RunId run, const RerunOptions& options) {
  json::object body;
  if (!options.id.empty()) body["id"] = options.id;
  if (!options.from.empty()) body["from"] = options.from;
  if (options.input) body["input"] = json_of(*options.input);
  const auto object =
      ask_object({.method = "POST", .target = job_path(run, "/rerun"), .body = mapping::json_text(body)});
  if (!object) return object.error();
  return std::pair(run_in(*object), text_in(*object, "id"));
}

Result<BulkSummary> RemoteRuntime::bulk(const JobFilter& filter, const BulkRequest& request,
                                        const BulkOptions& options) {
  json::object conditions;
  for (const auto& [name, value] : filter_query(filter)) {
    json::value& values = conditions[name];
    if (!values.is_array()) values = json::array();
    values.get_array().emplace_back(value);
  }
  json::object body{{"filter", std::move(conditions)}, {"dry_run", options.dry_run}};
  switch (request.verb) {
    case BulkVerb::redrive:
      for (auto& one : redrive_object(request.redrive)) body[one.key()] = one.value();
      break;
    case BulkVerb::remove:
      if (request.remove.keep_id != Duration{0}) body["keep_id"] = time_query(request.remove.keep_id);
      break;
    case BulkVerb::signal:
      body["signal"] = signal_object(request.topic, request.data, request.signal);
      break;
    case BulkVerb::interrupt:
    case BulkVerb::cancel:
    case BulkVerb::pause:
      body["reason"] = request.reason;
      break;
    case BulkVerb::resume:
      break;
  }
  const auto object = ask_object({.method = "POST",
                                  .target = format("/v1/bulk/{}", name_of(request.verb)),
                                  .body = mapping::json_text(body),
                                  .timeout = whole_store_max});
  if (!object) return object.error();
  BulkSummary summary = read_bulk(*object);
  if (options.progress) options.progress(summary.matched, summary.matched);
  return summary;
}

Status RemoteRuntime::settle(RunId run, const ActivityPlace& place, const Finding& finding) {
  const std::string_view outcome = finding.kind() == Finding::Kind::done     ? "done"
                                   : finding.kind() == Finding::Kind::failed ? "failed"
                                                                             : "not_done";
  if (finding.kind() == Finding::Kind::cannot_tell)
    return Error{ErrorCode::invalid, "Finding::cannot_tell settles nothing: say done, failed or not_done"};
  json::object body{
      {"activity", place.activity}, {"outcome", json::string(outcome)}, {"data", json_of(finding.data())}};
  if (!place.address.empty()) body["address"] = place.address;
  if (finding.code() != 0) body["code"] = finding.code();
  return verb(run, "settle", body);
}

Status RemoteRuntime::remove(RunId run, const RemoveOptions& options) {
  ends_ahead_.forget(run);
  TargetBuilder target(job_path(run));
  if (options.keep_id != Duration{0}) target.with("keep_id", time_query(options.keep_id));
  return tell({.method = "DELETE", .target = target.text()});
}

Status RemoteRuntime::pause_topic(const std::string& topic) {
  return tell({.method = "POST", .target = "/v1/topics/" + percent_encoded(topic) + "/pause", .repeatable = true});
}
Status RemoteRuntime::resume_topic(const std::string& topic) {
  return tell({.method = "POST", .target = "/v1/topics/" + percent_encoded(topic) + "/resume", .repeatable = true});
}

Result<std::vector<std::string>> RemoteRuntime::paused_topics() {
  struct Named {
    std::string topic;
    bool paused;
  };
  const auto all =
      views_in<Named>(ask_object({.target = "/v1/topics", .repeatable = true}), "topics", [](const json::object& one) {
        return Named{std::string(one.at("topic").as_string()), one.at("paused").as_bool()};
      });
  if (!all) return all.error();
  std::vector<std::string> paused;
  for (const Named& one : *all)
    if (one.paused) paused.push_back(one.topic);
  return paused;
}

Status RemoteRuntime::complete(const std::string& token, const Reply& reply) {
  if (reply.status() == Reply::Status::later)
    return Error{ErrorCode::invalid, "Reply::later is no answer; to keep the work longer, use Runtime::heartbeat"};
  const bool success = reply.status() == Reply::Status::success;
  return tell({.method = "POST",
               .target = TargetBuilder("/v1/work/" + percent_encoded(token) + (success ? "/complete" : "/fail"))
                             .with("code", std::to_string(reply.code()))
                             .with_some("retryable", success                                  ? ""
                                                     : reply.status() == Reply::Status::fatal ? "false"
                                                                                              : "true")
                             .text(),
               .body = reply.data().empty() ? "" : payload_json(reply.data()),
               .repeatable = true});
}

Status RemoteRuntime::heartbeat(const std::string& token, Payload progress, const HeartbeatOptions& options) {
  return tell({.method = "POST",
               .target = TargetBuilder("/v1/work/" + percent_encoded(token) + "/heartbeat")
                             .with("lease", time_query(std::min<Duration>(options.lease, limits::lease_max)))
                             .text(),
               .body = progress.empty() ? "" : payload_json(progress),
               .repeatable = true});
}

Result<Survey> RemoteRuntime::survey(const SurveyOptions& options) {
  const auto object = ask_object({.target = TargetBuilder("/v1/status")
                                                .with("errors", std::to_string(options.errors_max))
                                                .with("oldest", std::to_string(options.oldest_max))
                                                .text(),
                                  .timeout = whole_store_max,
                                  .repeatable = true});
  if (!object) return object.error();
  return read_survey(*object);
}

Result<std::vector<Diagnosis>> RemoteRuntime::diagnose() {
  return views_in<Diagnosis>(ask_object({.target = "/v1/doctor", .timeout = whole_store_max, .repeatable = true}),
                             "findings", read_diagnosis);
}

Result<Verified> RemoteRuntime::verify(const std::function<void(std::uint64_t)>&) {
  return at_the_store("verify", "reads the whole store");
}
Result<Verified> RemoteRuntime::backup(const std::string&) { return at_the_store("backup", "copies a file"); }

}  // namespace pawl::serve
