// RemoteRuntime: signals that are kept, rules of retention, tasks.
#include <algorithm>
#include <iterator>

#include "serve/json_fields.h"
#include "serve/limits.h"
#include "serve/people_json.h"
#include "serve/remote_runtime.h"
#include "serve/remote_text.h"

namespace pawl::serve {

namespace {

namespace json = boost::json;

// The server limits a page; the caller's may be larger. `target` makes the target of a page that begins behind a
// cursor.
template <class View, class Ask, class Target, class Read>
Result<std::vector<View>> read_pages(std::string after, std::size_t rows_max, std::string_view name, const Ask& ask,
                                     const Target& target, Read read) {
  std::vector<View> all;
  while (all.size() < rows_max) {
    const std::size_t most = std::min<std::size_t>(rows_max - all.size(), limits::page_rows_max);
    TargetBuilder builder = target();
    builder.with_some("after", after).with("limit", std::to_string(most));
    auto page = views_in<View>(ask({.target = builder.text(), .repeatable = true}), name, read);
    if (!page) return page.error();
    const bool last = page->size() < most;
    if (!page->empty()) after = page->back().cursor;
    std::move(page->begin(), page->end(), std::back_inserter(all));
    if (last) break;
  }
  return all;
}

std::string path_of(const std::string& folder, const std::string& id, const std::string& rest = "") {
  return folder + percent_encoded(id) + rest;
}

}  // namespace

Result<std::vector<KeptSignal>> RemoteRuntime::kept_signals(const KeptSignalFilter& filter) {
  return read_pages<KeptSignal>(
      filter.after, filter.rows_max, "signals", [this](const Call& call) { return ask_object(call); },
      [&] {
        TargetBuilder target("/v1/signals");
        target.with_some("topic", filter.topic).with_some("namespace", filter.name_space);
        if (filter.until != Instant()) target.with("until", time_text(filter.until));
        return target;
      },
      read_kept_signal);
}

Status RemoteRuntime::drop_signal(const std::string& id) {
  return tell({.method = "DELETE", .target = path_of("/v1/signals/", id)});
}

Result<std::uint64_t> RemoteRuntime::drop_signals(const KeptSignalFilter& filter) {
  json::object body;
  if (!filter.topic.empty()) body["topic"] = filter.topic;
  if (!filter.name_space.empty()) body["namespace"] = filter.name_space;
  if (filter.until != Instant()) body["until"] = time_text(filter.until);
  const auto done = ask_object({.method = "POST", .target = "/v1/signals/drop", .body = json::serialize(body)});
  if (!done) return done.error();
  return number_in<std::uint64_t>(*done, "dropped");
}

Result<std::vector<RetentionRule>> RemoteRuntime::retention() {
  return views_in<RetentionRule>(ask_object({.target = "/v1/retention", .repeatable = true}), "rules", read_rule);
}

Status RemoteRuntime::set_retention(const RetentionRule& rule) {
  json::object body;
  if (rule.status) body["status"] = json::string(name_of(*rule.status));
  if (!rule.graph.empty()) body["graph"] = rule.graph;
  if (rule.keep)
    body["keep"] = time_query(*rule.keep);
  else
    body["forever"] = true;
  return tell({.method = "PUT", .target = "/v1/retention", .body = json::serialize(body), .repeatable = true});
}

Status RemoteRuntime::drop_retention(const RetentionRule& rule) {
  TargetBuilder target("/v1/retention");
  if (rule.status) target.with("status", name_of(*rule.status));
  return tell({.method = "DELETE", .target = target.with_some("graph", rule.graph).text()});
}

Result<RetentionSummary> RemoteRuntime::apply_retention(const RetentionOptions& options) {
  const auto done = ask_object({.method = "POST",
                                .target = "/v1/retention/apply",
                                .body = json::serialize(json::object{{"dry_run", options.dry_run}}),
                                .timeout = std::chrono::hours(1)});
  if (!done) return done.error();
  return RetentionSummary{number_in<std::uint64_t>(*done, "removed"), number_in<std::uint64_t>(*done, "left")};
}

Result<std::vector<Task>> RemoteRuntime::tasks(const TaskFilter& filter) {
  return read_pages<Task>(
      filter.after, filter.rows_max, "tasks", [this](const Call& call) { return ask_object(call); },
      [&] {
        TargetBuilder target("/v1/tasks");
        target.with_some("role", filter.role)
            .with_some("type", filter.type)
            .with_some("claimed_by", filter.claimed_by)
            .with_some("graph", filter.graph)
            .with_some("namespace", filter.name_space)
            .with_some("job", filter.job);
        if (filter.unclaimed) target.with("unclaimed", "true");
        return target;
      },
      read_task);
}

Status RemoteRuntime::claim_task(const std::string& id, const std::string& who, Duration time) {
  return tell({.method = "POST",
               .target = path_of("/v1/tasks/", id, "/claim"),
               .body = json::serialize(json::object{{"who", who}, {"time", time_query(time)}})});
}

Status RemoteRuntime::release_task(const std::string& id, const std::string& who) {
  return tell({.method = "POST",
               .target = path_of("/v1/tasks/", id, "/release"),
               .body = json::serialize(json::object{{"who", who}})});
}

Status RemoteRuntime::resolve_task(const std::string& id, const Payload& data, const ResolveOptions& options) {
  json::object body{{"data", serve::json_of(data)}, {"code", options.code}};
  if (!options.who.empty()) body["who"] = options.who;
  return tell({.method = "POST", .target = path_of("/v1/tasks/", id, "/resolve"), .body = json::serialize(body)});
}

}  // namespace pawl::serve
