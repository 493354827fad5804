#include "cli/job_filter.h"

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>

#include "execute/assemble.h"
#include "mapping/suggest.h"
#include "serve/filter_query.h"
#include "serve/json_fields.h"

namespace pawl::cli {

namespace {

std::vector<std::string> status_names() {
  std::vector<std::string> names;
  for (const JobStatus status : serve::job_states) names.emplace_back(name_of(status));
  return names;
}

}  // namespace

bool FilterOptions::is_empty() const {
  return statuses.empty() && name_space.empty() && graph.empty() && where.empty() && collation_key.empty() &&
         activity.empty() && error.empty() && code == 0 && since.empty() && until.empty() && ended_since.empty() &&
         ended_until.empty() && older_than.empty() && younger_than.empty() && label.empty() && key.empty();
}

void add_filter_options(CLI::App& command, FilterOptions& options, OwnCode own_code) {
  const std::string group = "Which jobs (all of these must hold)";
  const auto add = [&](const char* name, auto& value, const char* help) {
    return command.add_option(name, value, help)->group(group);
  };
  add("--status,--state", options.statuses,
      "In one of these states: running, completed, failed, interrupted, parked, paused")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->check(CLI::IsMember(status_names()));
  add("--graph", options.graph, "Of this graph: APP/TOPIC");
  add("--activity", options.activity, "That wait or failed at this activity");
  add("--error", options.error, "Whose reason, or what a worker said last, has this text");
  if (own_code == OwnCode::no) add("--code", options.code, "Whose error, or what a worker said last, has this code");
  add("--where", options.where, "Whose activity is in this state: ACTIVITY=STATE, e.g. charge=errored; may be repeated")
      ->allow_extra_args(false);
  add("--collation-key", options.collation_key, "Whose collation key matches: digits, ? for any, * at the end");
  add("--label", options.label, "With this label of the graph's stats: NAME=VALUE, e.g. shop=north")->needs("--graph");
  add("--key", options.key, "With this stats.key")->needs("--graph");
  add("--since", options.since,
      "Made at this time or later: 2026-11-17T03:00, 03:00, or how long ago: 90s, 15m, 2h, 3d");
  add("--until", options.until, "Made before this time");
  add("--ended-since", options.ended_since, "Ended at this time or later");
  add("--ended-until", options.ended_until, "Ended before this time");
  add("--older-than", options.older_than, "Made longer ago than this: 90s, 15m, 2h, 3d");
  add("--younger-than", options.younger_than, "Made no longer ago than this");
}

Instant clock_now() {
  return Instant::from_micros(
      std::chrono::duration_cast<std::chrono::microseconds>(std::chrono::system_clock::now().time_since_epoch())
          .count());
}

Result<JobFilter> filter_of(const FilterOptions& options, Instant now) {
  serve::Pairs query;
  const auto add = [&](const char* name, const std::string& text) {
    if (!text.empty()) query.emplace_back(name, text);
  };
  for (const std::string& status : options.statuses) add("status", status);
  for (const std::string& one : options.where) add("where", one);
  add("namespace", options.name_space);
  add("graph", options.graph);
  add("collation_key", options.collation_key);
  add("activity", options.activity);
  add("error", options.error);
  if (options.code != 0) add("code", std::to_string(options.code));
  add("label", options.label);
  add("key", options.key);
  add("since", options.since);
  add("until", options.until);
  add("ended_since", options.ended_since);
  add("ended_until", options.ended_until);
  add("older_than", options.older_than);
  add("younger_than", options.younger_than);
  add("order", "oldest");
  auto filter = serve::read_filter(query, now);
  if (filter) return filter;
  // An error begins with the name of the filter: here that is an option.
  Error error = filter.error();
  const std::size_t name_end = std::min(error.detail.find_first_of(" :"), error.detail.size());
  std::replace(error.detail.begin(), error.detail.begin() + static_cast<std::ptrdiff_t>(name_end), '_', '-');
  error.detail = "--" + error.detail;
  return error;
}

Status check_graph(Runtime& runtime, const FilterOptions& options) {
  if (options.graph.empty()) return {};
  const auto apps = runtime.apps();
  if (!apps) return apps.error();
  std::vector<std::string> names;
  for (const AppVersion& version : *apps)
    for (const std::string& topic : version.topics) names.push_back(execute::graph_name(version.app, topic));
  // Graphs that are built in C++ are known by their jobs.
  const auto survey = runtime.survey();
  if (!survey) return survey.error();
  for (const GraphCount& graph : survey->graphs) names.push_back(graph.graph.raw());
  if (std::find(names.begin(), names.end(), options.graph) != names.end()) return {};
  for (const std::string& name : names)  // the topic alone, or its end
    if (name.ends_with("/" + options.graph))
      return Error{ErrorCode::not_found,
                   fmt::format("--graph {}: there is no such graph; did you mean {}?", options.graph, name)};
  const std::vector<std::string_view> known(names.begin(), names.end());
  const std::string_view near = mapping::nearest(options.graph, known);
  return Error{ErrorCode::not_found,
               fmt::format("--graph {}: there is no such graph; {}", options.graph,
                           near.empty() ? "pawl apps lists what there is" : fmt::format("did you mean {}?", near))};
}

}  // namespace pawl::cli
