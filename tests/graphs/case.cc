#include "graphs/case.h"

#include <yaml-cpp/yaml.h>

#include <cmath>
#include <set>
#include <stdexcept>

namespace pawl::graphs {

namespace {

namespace json = boost::json;

[[noreturn]] void refuse(const YAML::Node& node, const std::string& what) {
  throw std::runtime_error("line " + std::to_string(node.Mark().line + 1) + ": " + what);
}

json::value scalar(const YAML::Node& node) {
  const std::string text = node.Scalar();
  if (node.Tag() == "!") return json::value(text);  // quoted
  if (text == "null" || text == "~" || text.empty()) return nullptr;
  if (text == "true" || text == "false") return text == "true";
  char* end = nullptr;
  const long long whole = std::strtoll(text.c_str(), &end, 10);
  if (*end == 0) return static_cast<std::int64_t>(whole);
  const double number = std::strtod(text.c_str(), &end);
  if (*end == 0 && std::isfinite(number)) return number;
  return json::value(text);
}

json::value value_of(const YAML::Node& node) {
  if (!node || node.IsNull()) return nullptr;
  if (node.IsScalar()) return scalar(node);
  if (node.IsSequence()) {
    json::array list;
    for (const auto& item : node) list.push_back(value_of(item));
    return list;
  }
  json::object map;
  for (const auto& pair : node) map[pair.first.Scalar()] = value_of(pair.second);
  return map;
}

void check_keys(const YAML::Node& node, const std::set<std::string>& known) {
  if (!node.IsMap()) refuse(node, "a map is expected");
  for (const auto& pair : node)
    if (!known.contains(pair.first.Scalar())) refuse(pair.first, "unknown key " + pair.first.Scalar());
}

template <class T>
T value_or(const YAML::Node& node, const char* key, T otherwise) {
  return node[key] ? node[key].as<T>() : otherwise;
}

CaseReply reply_of(const YAML::Node& node) {
  check_keys(node, {"status", "code", "data", "pending", "fails", "fails_with", "silent", "twice", "before_redrive"});
  CaseReply reply;
  reply.status = value_or<std::string>(node, "status", "success");
  reply.code = value_or<std::int32_t>(node, "code", reply.status == "success" ? 200 : 500);
  reply.data = node["data"] ? value_of(node["data"]) : json::value(json::object());
  for (const auto& one : node["pending"]) reply.pending.push_back(value_of(one));
  if (const YAML::Node codes = node["fails_with"])
    reply.fails_with = codes.IsSequence() ? codes.as<std::vector<std::int32_t>>()
                                          : std::vector<std::int32_t>{codes.as<std::int32_t>()};
  if (reply.fails_with.empty()) refuse(node, "fails_with needs a code");
  const bool listed = node["fails_with"] && node["fails_with"].IsSequence();
  reply.fails =
      value_or<std::uint32_t>(node, "fails", listed ? static_cast<std::uint32_t>(reply.fails_with.size()) : 0);
  reply.silent = value_or<bool>(node, "silent", false);
  reply.twice = value_or<bool>(node, "twice", false);
  if (node["before_redrive"]) reply.before_redrive = value_of(node["before_redrive"]);
  return reply;
}

CaseSignal signal_of(const YAML::Node& node) {
  check_keys(node, {"after", "at", "topic", "data", "status", "code", "times"});
  CaseSignal signal;
  signal.after = value_or<std::string>(node, "after", "start");
  if (node["at"]) signal.at = node["at"].as<std::int64_t>();
  signal.topic = node["topic"].as<std::string>();
  signal.data = value_of(node["data"]);
  signal.pending = value_or<std::string>(node, "status", "success") == "pending";
  signal.code = value_or<std::int32_t>(node, "code", 0);
  signal.times = value_or<std::uint32_t>(node, "times", 1);
  return signal;
}

std::vector<std::string> texts_of(const YAML::Node& node) {
  std::vector<std::string> texts;
  if (node.IsScalar())
    texts.push_back(node.Scalar());
  else
    for (const auto& item : node) texts.push_back(item.Scalar());
  return texts;
}

CaseJob job_of(const YAML::Node& node) {
  check_keys(node, {"status", "data", "reason", "code", "took", "activities", "announced"});
  CaseJob job;
  if (node["status"]) job.status = node["status"].Scalar();
  if (node["data"]) job.data = value_of(node["data"]);
  if (node["reason"]) job.reason = node["reason"].Scalar();
  if (node["announced"]) job.announced = value_of(node["announced"]).as_array();
  if (node["code"]) job.code = node["code"].as<std::int32_t>();
  if (node["took"]) {
    const auto seconds = node["took"].as<std::vector<double>>();
    if (seconds.size() != 2) refuse(node["took"], "took is [at least, less than], in seconds");
    job.took = {seconds[0], seconds[1]};
  }
  if (node["activities"])
    for (const auto& pair : node["activities"]) {
      check_keys(pair.second, {"count", "ledger", "address", "status", "code", "output"});
      CaseActivity activity;
      if (pair.second["count"]) activity.count = pair.second["count"].as<std::uint32_t>();
      if (pair.second["ledger"]) activity.ledgers = texts_of(pair.second["ledger"]);
      if (pair.second["address"]) activity.addresses = texts_of(pair.second["address"]);
      if (pair.second["status"]) activity.status = pair.second["status"].Scalar();
      if (pair.second["code"]) activity.code = pair.second["code"].as<std::int32_t>();
      if (pair.second["output"]) activity.output = value_of(pair.second["output"]);
      job.activities.emplace(pair.first.Scalar(), std::move(activity));
    }
  return job;
}

CaseStart start_of(const YAML::Node& node) {
  CaseStart start;
  start.topic = value_or<std::string>(node, "topic", "");
  start.id = value_or<std::string>(node, "id", "");
  start.input = node["input"] ? value_of(node["input"]) : json::value(json::object());
  return start;
}

Case case_of(const YAML::Node& node) {
  check_keys(node, {"name", "app", "topic", "id", "input", "before", "workers", "signals", "interrupt_after",
                    "redrives", "expect", "jobs", "calls", "measures", "labels"});
  Case made;
  made.name = node["name"].as<std::string>();
  made.app = node["app"].as<std::string>();
  made.start = start_of(node);
  for (const auto& other : node["before"]) made.before.push_back(start_of(other));
  if (node["workers"])
    for (const auto& pair : node["workers"])
      for (const auto& reply : pair.second) made.workers[pair.first.Scalar()].push_back(reply_of(reply));
  for (const auto& signal : node["signals"]) made.signals.push_back(signal_of(signal));
  made.interrupt_after = value_or<std::string>(node, "interrupt_after", "");
  made.redrives = value_or<std::uint32_t>(node, "redrives", 0);
  made.expect = job_of(node["expect"]);
  if (node["jobs"])
    for (const auto& pair : node["jobs"]) made.jobs.emplace(pair.first.Scalar(), job_of(pair.second));
  if (node["calls"])
    for (const auto& pair : node["calls"]) made.calls.emplace(pair.first.Scalar(), pair.second.as<std::uint32_t>());
  if (node["measures"]) made.measures = value_of(node["measures"]).as_array();
  if (node["labels"]) made.labels = value_of(node["labels"]).as_array();
  return made;
}

}  // namespace

std::vector<Case> read_cases(const std::string& path) {
  try {
    std::vector<Case> cases;
    const YAML::Node file = YAML::LoadFile(path);
    check_keys(file, {"cases"});
    for (const auto& node : file["cases"]) cases.push_back(case_of(node));
    return cases;
  } catch (const std::exception& error) {
    throw std::runtime_error(path + ": " + error.what());
  }
}

}  // namespace pawl::graphs
