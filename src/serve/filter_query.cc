#include "serve/filter_query.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <string>
#include <utility>

#include "base/format.h"
#include "mapping/json_text.h"
#include "serve/job_json.h"
#include "serve/parse_time.h"

namespace pawl::serve {

namespace {

namespace json = boost::json;

constexpr std::array statuses{JobStatus::running,     JobStatus::completed, JobStatus::failed,
                              JobStatus::interrupted, JobStatus::parked,    JobStatus::paused};
constexpr std::array<std::string_view, 18> names{
    "status", "namespace", "graph", "where",       "collation_key", "activity",   "error",        "code",  "label",
    "key",    "since",     "until", "ended_since", "ended_until",   "older_than", "younger_than", "order", "brief"};

Error bad_filter(std::string_view name, std::string_view why) {
  return {ErrorCode::invalid, format("{}: {}", name, why)};
}

Status add_statuses(JobStatuses& into, const std::string& list) {
  std::string_view rest = list;
  while (!rest.empty()) {
    const std::size_t comma = rest.find(',');
    const std::string_view name = rest.substr(0, comma);
    rest.remove_prefix(comma == std::string_view::npos ? rest.size() : comma + 1);
    if (name.empty()) continue;
    const auto found =
        std::find_if(statuses.begin(), statuses.end(), [&](JobStatus status) { return name_of(status) == name; });
    if (found == statuses.end())
      return bad_filter("status", "it is one of running, completed, failed, interrupted, parked, paused");
    into.push_back(*found);
  }
  return {};
}

Result<std::pair<std::string, std::string>> pair_in(std::string_view name, const std::string& text) {
  const std::size_t equals = text.find('=');
  if (equals == std::string::npos || equals == 0) return bad_filter(name, "write NAME=VALUE");
  return std::pair(text.substr(0, equals), text.substr(equals + 1));
}

Status read_code(std::int32_t& into, const std::string& text) {
  const char* end = text.data() + text.size();
  const auto read = std::from_chars(text.data(), end, into);
  if (read.ec != std::errc() || read.ptr != end) return bad_filter("code", "it is a whole number");
  return {};
}

Status read_times(JobFilter& filter, const std::string& name, const std::string& text, Instant now) {
  if (name == "older_than" || name == "younger_than") {
    const auto age = parse_age(name, text);
    if (!age) return age.error();
    if (name == "younger_than")
      filter.since = std::max(filter.since, now - *age);
    else
      filter.until = filter.until == Instant() ? now - *age : std::min(filter.until, now - *age);
    return {};
  }
  const auto at = parse_time(name, text, now);
  if (!at) return at.error();
  (name == "since"         ? filter.since
   : name == "until"       ? filter.until
   : name == "ended_since" ? filter.ended_since
                           : filter.ended_until) = *at;
  return {};
}

Status read_condition(JobFilter& filter, const std::string& name, const std::string& text, Instant now) {
  if (name == "status") return add_statuses(filter.status, text);
  if (name == "namespace") return filter.name_space = text, Status();
  if (name == "graph") return filter.graph = text, Status();
  if (name == "collation_key") return filter.collation_key = text, Status();
  if (name == "activity") return filter.activity = text, Status();
  if (name == "error") return filter.error = text, Status();
  if (name == "code") return read_code(filter.code, text);
  if (name == "where") {
    auto pair = pair_in(name, text);
    if (!pair) return pair.error();
    filter.where.push_back(std::move(*pair));
    return {};
  }
  if (name == "label") {
    auto pair = pair_in(name, text);
    if (!pair) return pair.error();
    if (!filter.label) filter.label.emplace();
    std::tie(filter.label->name, filter.label->value) = std::move(*pair);
    return {};
  }
  if (name == "key") {
    if (!filter.label) filter.label.emplace();
    filter.label->key = text;
    return {};
  }
  if (name == "order") {
    if (text != "newest" && text != "oldest") return bad_filter("order", "it is newest or oldest");
    filter.order = text == "oldest" ? JobOrder::oldest_first : JobOrder::newest_first;
    return {};
  }
  if (name == "brief") {
    if (text != "true" && text != "false") return bad_filter("brief", "it is true or false");
    filter.without_data = text == "true";
    return {};
  }
  return read_times(filter, name, text, now);
}

bool is_condition(std::string_view name) { return std::find(names.begin(), names.end(), name) != names.end(); }

// With the part of a second that time_text() leaves out.
std::string exact_time(Instant at) {
  std::string text = time_text(at);
  text.pop_back();
  return text + format("{:03}Z", at.micros() % 1000);
}

}  // namespace

Result<JobFilter> read_filter(const Pairs& query, Instant now) {
  JobFilter filter;
  filter.order = JobOrder::newest_first;
  // Bounds first, whatever their order: an age narrows what a time says.
  for (const bool ages : {false, true})
    for (const auto& [name, text] : query)
      if (is_condition(name) && name.ends_with("_than") == ages && !(text.empty() && name != "key"))
        if (const auto read = read_condition(filter, name, text, now); !read) return read.error();
  return filter;
}

Result<JobFilter> read_filter(const json::object& object, Instant now) {
  Pairs query;
  for (const auto& one : object) {
    const std::string name(one.key());
    if (!is_condition(name)) return bad_filter("filter." + name, "there is no such filter");
    const auto add = [&](const json::value& value) {
      if (!value.is_null())
        query.emplace_back(name, value.is_string() ? std::string(value.get_string()) : mapping::json_text(value));
    };
    if (!one.value().is_array())
      add(one.value());
    else
      for (const json::value& value : one.value().get_array()) add(value);
  }
  return read_filter(query, now);
}

Pairs filter_query(const JobFilter& filter) {
  Pairs query;
  const auto add = [&](const char* name, std::string text) {
    if (!text.empty()) query.emplace_back(name, std::move(text));
  };
  for (const JobStatus status : filter.status) add("status", std::string(name_of(status)));
  add("namespace", filter.name_space);
  add("graph", filter.graph);
  for (const auto& [activity, state] : filter.where) add("where", activity + "=" + state);
  add("collation_key", filter.collation_key);
  add("activity", filter.activity);
  add("error", filter.error);
  if (filter.code != 0) add("code", std::to_string(filter.code));
  if (filter.label && !filter.label->name.empty()) add("label", filter.label->name + "=" + filter.label->value);
  if (filter.label && filter.label->key) query.emplace_back("key", *filter.label->key);
  const std::pair<const char*, Instant> times[] = {{"since", filter.since},
                                                   {"until", filter.until},
                                                   {"ended_since", filter.ended_since},
                                                   {"ended_until", filter.ended_until}};
  for (const auto& [name, at] : times)
    if (at != Instant()) add(name, exact_time(at));
  add("order", filter.order == JobOrder::oldest_first ? "oldest" : "newest");
  if (filter.without_data) add("brief", "true");
  return query;
}

}  // namespace pawl::serve
