// One language in two forms. Every word of the language (graph/words.h) is said with the builder's own call for it, one
// by one and in whole apps: what the examples and the cases say in YAML is said again in C++ and must be the same app.
#include <gtest/gtest.h>

#include <boost/json.hpp>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <regex>
#include <set>
#include <sstream>

#include "base/format.h"
#include "execute/assemble.h"
#include "graph/check.h"
#include "graph/node.h"
#include "graph/refs.h"
#include "graph/report.h"
#include "graph/words.h"
#include "graph/yaml.h"

namespace pawl::execute {
namespace {

namespace fs = std::filesystem;
namespace json = boost::json;
using graph::Level;

using Call = std::function<void(GraphBuilder&, const Value&)>;
struct Saying {
  const char* methods;  // of GraphBuilder, with spaces between
  const char* sample;   // JSON
  Call call;
};
using Sayings = std::map<std::pair<Level, std::string>, Saying>;

Value value_of(const json::value& from) { return Value::json(json::serialize(from)); }
json::value json_of(const char* text) { return json::parse(text); }
std::string text_of_value(const Value& value) { return value.get<std::string>() ? *value.get<std::string>() : ""; }
bool is_code(std::string_view key) { return key.size() == 3 && key.find_first_not_of("0123456789") == key.npos; }

Duration time_of(const json::value& value) {
  const std::string text = value.is_string() ? std::string(value.get_string()) : json::serialize(value);
  const std::size_t end = text.find_first_not_of("0123456789.");
  const std::string unit = end == std::string::npos ? "" : text.substr(end);
  const double scale = unit == "ms" ? 1e-3 : unit == "m" ? 60 : unit == "h" ? 3600 : unit == "d" ? 86400 : 1;
  return std::chrono::duration_cast<Duration>(std::chrono::duration<double>(std::stod(text) * scale));
}

double number_of(const json::value& value) { return value.to_number<double>(); }

void say_rule(Retry& rule, const json::object& keys) {
  for (const auto& [key, value] : keys) {
    if (key == "maximumAttempts") rule.attempts(static_cast<std::uint32_t>(value.as_int64()));
    if (key == "initialInterval") rule.first_delay(time_of(value));
    if (key == "maximumInterval") rule.longest_delay(time_of(value));
    if (key == "backoffCoefficient") rule.growth(number_of(value));
    if (key == "jitter") rule.jitter(number_of(value));
    if (key == "within") rule.within(time_of(value));
    if (key == "when_exhausted")
      rule.when_exhausted(value.as_string() == "park" ? WhenExhausted::park : WhenExhausted::fail);
    if (key == "never_on") rule.never_on(json::value_to<std::vector<std::int32_t>>(value));
  }
}

void say_retry(GraphBuilder& builder, const json::object& keys) {
  Retry retry;
  retry.attempts(1);
  say_rule(retry, keys);
  const Retry general = retry;
  for (const auto& [key, value] : keys) {
    if (!is_code(key)) continue;
    Retry rule = general;
    rule.never_on({});
    if (value.is_array())
      rule.attempts(1 + static_cast<std::uint32_t>(value.as_array().at(0).as_int64()));
    else
      say_rule(rule, value.as_object());
    retry.on(std::stoi(std::string(key)), rule);
  }
  builder.retry(retry);
}

void say_timeouts(GraphBuilder& builder, const json::object& keys) {
  Timeouts timeouts;
  for (const auto& [key, value] : keys) {
    if (key == "attempt") timeouts.attempt(time_of(value));
    if (key == "heartbeat") timeouts.heartbeat(time_of(value));
    if (key == "queue") timeouts.queue(time_of(value));
    if (key == "total") timeouts.total(time_of(value));
  }
  builder.timeouts(timeouts);
}

void say_stats(GraphBuilder& builder, const json::object& keys) {
  Stats stats;
  for (const auto& [key, value] : keys) {
    if (key == "id") stats.id(value_of(value));
    if (key == "key") stats.key(value_of(value));
    if (key == "parent") stats.parent(value_of(value));
    if (key == "adjacent") stats.adjacent(value_of(value));
    if (key == "granularity") stats.granularity(std::string(value.as_string()));
    if (key == "measures")
      for (const json::value& one : value.as_array()) {
        const json::object& measure = one.as_object();
        stats.measure(std::string(measure.at("measure").as_string()),
                      measure.contains("target") ? value_of(measure.at("target")) : Value());
      }
  }
  builder.stats(stats);
}

Condition condition_of(const json::object& keys) {
  Condition out = Condition::always();
  if (keys.contains("code")) {
    const json::value& code = keys.at("code");
    json::array codes = code.is_array() ? code.as_array() : json::array{code};
    for (const json::value& one : codes) {
      if (one.is_string() && one.as_string() == "error")
        out.with_error();
      else
        out.with_code(one.is_string() ? std::stoi(std::string(one.as_string()))
                                      : static_cast<std::int32_t>(one.as_int64()));
    }
  }
  const bool any = keys.contains("gate") && keys.at("gate").as_string() == "or";
  if (keys.contains("gate") && !any) out.set("gate", "and");
  if (keys.contains("match"))
    for (const json::value& one : keys.at("match").as_array()) {
      const Value actual = value_of(one.at("actual")), expected = value_of(one.at("expected"));
      any ? out.or_match(actual, expected) : out.and_match(actual, expected);
    }
  return out;
}

// A schema and maps, also those of a code.
Call channel(const std::string& name, GraphBuilder& (GraphBuilder::*maps)(Value),
             GraphBuilder& (GraphBuilder::*schema)(Value)) {
  return [=](GraphBuilder& builder, const Value& value) {
    for (const auto& [key, inside] : *value.get<Fields>()) {
      if (key == "maps") (builder.*maps)(inside);
      if (key == "schema") (builder.*schema)(inside);
      if (!is_code(key)) continue;
      for (const auto& [coded, of_code] : *inside.get<Fields>()) {
        const int code = std::stoi(key);
        if (coded == "schema") builder.output_schema(code, of_code);
        if (coded == "maps" && name == "output") builder.output(code, of_code);
        if (coded == "maps" && name == "job") builder.job(code, of_code);
      }
    }
  };
}

Call plain(GraphBuilder& (GraphBuilder::*method)(Value)) {
  return [=](GraphBuilder& builder, const Value& value) { (builder.*method)(value); };
}
Call text(GraphBuilder& (GraphBuilder::*method)(std::string)) {
  return [=](GraphBuilder& builder, const Value& value) { (builder.*method)(text_of_value(value)); };
}
Call given_with_its_name() {
  return [](GraphBuilder&, const Value&) {};
}
Call any_key(const char* key) {
  return [=](GraphBuilder& builder, const Value& value) { builder.set(key, value); };
}

json::object fields_json(const Value& value) {
  json::object out;
  std::function<json::value(const Value&)> convert = [&](const Value& one) -> json::value {
    if (const auto* fields = one.get<Fields>()) {
      json::object made;
      for (const auto& [key, field] : *fields) made.emplace(key, convert(field));
      return made;
    }
    if (const auto* list = one.get<Values>()) {
      json::array made;
      for (const Value& item : *list) made.push_back(convert(item));
      return made;
    }
    if (const auto* truth = one.get<bool>()) return *truth;
    if (const auto* number = one.get<std::int64_t>()) return *number;
    if (const auto* real = one.get<double>()) return *real;
    if (const auto* words = one.get<std::string>()) return json::value(json::string_view(words->data(), words->size()));
    return nullptr;
  };
  return convert(value).as_object();
}

const Sayings& sayings() {
  using G = GraphBuilder;
  static const Sayings all = [] {
    Sayings s;
    const auto add = [&](Level level, const char* key, const char* methods, const char* sample, Call call) {
      s.emplace(std::pair(level, std::string(key)), Saying{methods, sample, std::move(call)});
    };
    const auto none = given_with_its_name();
    add(Level::graph, "subscribes", "", R"("g")", none);
    add(Level::graph, "publishes", "publishes", R"("said")", text(&G::publishes));
    add(Level::graph, "title", "title", R"("A title")", text(&G::title));
    add(Level::graph, "expire", "expire", "60", plain(&G::expire));
    add(Level::graph, "persistent", "persistent", "true", plain(&G::persistent));
    add(Level::graph, "on_error", "on_error", R"("drain")",
        [](G& b, const Value& v) { b.on_error(text_of_value(v) == "drain" ? OnError::drain : OnError::fail); });
    add(Level::graph, "collation", "collation", R"("duplex")", [](G& b, const Value& v) {
      b.collation(text_of_value(v) == "duplex" ? Collation::duplex : Collation::ledger);
    });
    add(Level::graph, "input_from", "input_from", R"("answers")", [](G& b, const Value& v) {
      b.input_from(text_of_value(v) == "answers" ? InputFrom::answers : InputFrom::maps);
    });
    add(Level::graph, "result_of", "result_of", R"("x")", text(&G::result_of));
    add(Level::graph, "input", "input_schema", R"({"schema": {"type": "object"}})",
        channel("input", &G::input, &G::input_schema));
    add(Level::graph, "output", "output_schema", R"({"schema": {"type": "object"}, "402": {"schema": {}}})",
        channel("output", &G::output, &G::output_schema));
    add(Level::graph, "activities", "trigger worker await hook signal cycle interrupt join map", "", none);
    add(Level::graph, "transitions", "after transition", "", none);
    add(Level::graph, "hooks", "waits_for", "", none);

    add(Level::activity, "type", "", "", none);
    add(Level::activity, "subtype", "set", R"("kept")", any_key("subtype"));
    add(Level::activity, "title", "title", R"("A title")", text(&G::title));
    add(Level::activity, "input", "input", R"({"maps": {"a": 1}, "schema": {}})",
        channel("input", &G::input, &G::input_schema));
    add(Level::activity, "output", "output", R"({"schema": {}, "404": {"schema": {}}})",
        channel("output", &G::output, &G::output_schema));
    add(Level::activity, "job", "job job_schema", R"({"maps": {"a": 1}, "404": {"maps": {"b": 2}}, "schema": {}})",
        channel("job", &G::job, &G::job_schema));
    add(Level::activity, "telemetry", "telemetry", R"({"a": 1})", plain(&G::telemetry));
    add(Level::activity, "emit", "emit", "true", plain(&G::emit));
    add(Level::activity, "persist", "persist", "true", plain(&G::persist));
    add(Level::activity, "statusThreshold", "status_threshold", "1", plain(&G::status_threshold));
    add(Level::activity, "statusThresholdType", "set", R"("stop")", any_key("statusThresholdType"));
    add(Level::activity, "timeout", "timeout", R"("5m")", plain(&G::timeout));
    add(Level::activity, "settings", "settings", R"({"a": 1})", plain(&G::settings));
    add(Level::activity, "eventName", "set", R"("x")", any_key("eventName"));

    add(Level::trigger, "stats", "stats", R"({"id": "a", "key": "k", "measures": [{"measure": "count"}]})",
        [](G& b, const Value& v) { say_stats(b, fields_json(v)); });
    add(Level::trigger, "entity", "entity", R"("customer")", plain(&G::entity));

    for (const Level level : {Level::worker, Level::await, Level::signal}) add(level, "topic", "", "", none);
    for (const Level level : {Level::worker, Level::await, Level::hook, Level::signal})
      add(level, "compensate", "compensate", R"("undo")", text(&G::compensate));
    for (const Level level : {Level::worker, Level::await})
      add(level, "retry", "retry", R"({"maximumAttempts": 3, "503": {"maximumAttempts": 9}})",
          [](G& b, const Value& v) { say_retry(b, fields_json(v)); });
    add(Level::worker, "timeouts", "timeouts", R"({"attempt": "1s", "heartbeat": 2, "queue": 3, "total": "4ms"})",
        [](G& b, const Value& v) { say_timeouts(b, fields_json(v)); });
    add(Level::worker, "guarantee", "at_most_once", R"("at_most_once")", [](G& b, const Value& v) {
      if (text_of_value(v) == "at_most_once") b.at_most_once();
    });
    add(Level::worker, "when_unknown", "at_most_once", R"("ask_probe")", [](G& b, const Value& v) {
      const std::string word = text_of_value(v);
      b.at_most_once(word == "retry"  ? WhenUnknown::retry
                     : word == "hold" ? WhenUnknown::hold
                                      : WhenUnknown::ask_probe);
    });
    add(Level::worker, "priority", "priority", "5",
        [](G& b, const Value& v) { b.priority(static_cast<std::int32_t>(*v.get<std::int64_t>())); });

    add(Level::await, "await", "awaits", "false", plain(&G::awaits));

    add(Level::hook, "sleep", "sleep", R"("1h")", plain(&G::sleep));
    add(Level::hook, "hook", "signal_schema", R"({"type": "object"})", plain(&G::signal_schema));
    add(Level::hook, "cycle", "pivot", "true", [](G& b, const Value&) { b.pivot(); });
    add(Level::hook, "escalation", "escalation", R"({"role": "boss"})", plain(&G::escalation));

    add(Level::signal, "signal", "payload payload_schema", R"({"maps": {"id": 1}, "schema": {}})",
        channel("signal", &G::payload, &G::payload_schema));
    add(Level::signal, "status", "status", R"("pending")", text(&G::status));
    add(Level::signal, "code", "code", "202", plain(&G::code));
    add(Level::signal, "key_name", "key_name to_all", R"("side")", plain(&G::key_name));
    add(Level::signal, "key_value", "key_value", R"("left")", plain(&G::key_value));
    add(Level::signal, "scrub", "scrub", "true", plain(&G::scrub));
    add(Level::signal, "resolver", "resolver resolver_schema", R"({"maps": {"id": 1}, "schema": {}})",
        channel("resolver", &G::resolver, &G::resolver_schema));

    add(Level::cycle, "ancestor", "", "", none);

    add(Level::interrupt, "target", "target", R"("other")", plain(&G::target));
    add(Level::interrupt, "topic", "topic", R"("g")", plain(&G::topic));
    add(Level::interrupt, "reason", "reason", R"("enough")", plain(&G::reason));
    add(Level::interrupt, "code", "code", "410", plain(&G::code));
    add(Level::interrupt, "throw", "throws", "false", plain(&G::throws));
    add(Level::interrupt, "descend", "descend", "true", plain(&G::descend));
    add(Level::interrupt, "stack", "stack", R"("here")", plain(&G::stack));
    add(Level::interrupt, "expire", "expire", "60", plain(&G::expire));

    add(Level::join, "need", "need need_any", R"("any")", [](G& b, const Value& v) {
      if (const auto* number = v.get<std::int64_t>())
        b.need(*number);
      else if (text_of_value(v) == "any")
        b.need_any();
      else
        b.set("need", v);
    });
    add(Level::join, "others", "cancel_others", R"("cancel")",
        [](G& b, const Value& v) { text_of_value(v) == "cancel" ? b.cancel_others() : b.set("others", v); });

    add(Level::map, "items", "", "", none);
    add(Level::map, "join", "", "", none);
    add(Level::map, "parallel", "parallel", "3", plain(&G::parallel));
    add(Level::map, "collect", "collect", R"("{x.output.data.item}")", plain(&G::collect));
    return s;
  }();
  return all;
}

Level level_of(const std::string& type) {
  const std::map<std::string, Level> levels{
      {"trigger", Level::trigger}, {"worker", Level::worker}, {"await", Level::await}, {"hook", Level::hook},
      {"activity", Level::hook},   {"signal", Level::signal}, {"cycle", Level::cycle}, {"interrupt", Level::interrupt},
      {"join", Level::join},       {"map", Level::map}};
  return levels.at(type);
}

void say(GraphBuilder& builder, Level level, std::string_view key, const Value& value) {
  auto found = sayings().find({level, std::string(key)});
  if (found == sayings().end()) found = sayings().find({Level::activity, std::string(key)});
  ASSERT_NE(found, sayings().end()) << "the builder has no call for " << key;
  found->second.call(builder, value);
}

void begin(GraphBuilder& builder, const std::string& id, const std::string& type, const json::object& keys) {
  const auto value = [&](const char* key) { return keys.contains(key) ? value_of(keys.at(key)) : Value(); };
  if (type == "trigger") builder.trigger(id);
  if (type == "worker") builder.worker(id, value("topic"));
  if (type == "await") builder.await(id, value("topic"));
  if (type == "hook" || type == "activity") builder.hook(id);
  if (type == "signal") builder.signal(id, value("topic"));
  if (type == "cycle") builder.cycle(id, text_of_value(value("ancestor")));
  if (type == "interrupt") builder.interrupt(id);
  if (type == "join") builder.join(id);
  if (type == "map") builder.map(id, value("items"), text_of_value(value("join")));
}

// The graph of a document, said in C++.
GraphBuilder said(const json::object& graph) {
  GraphBuilder builder(std::string(graph.at("subscribes").as_string()));
  if (!graph.contains("input_from")) builder.input_from(InputFrom::maps);
  for (const auto& [key, value] : graph)
    if (key != "activities" && key != "transitions" && key != "hooks") say(builder, Level::graph, key, value_of(value));
  for (const auto& [id, activity] : graph.at("activities").as_object()) {
    const json::object& keys = activity.as_object();
    const std::string type = keys.contains("type") ? std::string(keys.at("type").as_string()) : "hook";
    begin(builder, std::string(id), type, keys);
    for (const auto& [key, value] : keys)
      if (key != "type") say(builder, level_of(type), key, value_of(value));
    if (!graph.contains("hooks")) continue;
    for (const auto& [topic, rules] : graph.at("hooks").as_object())
      for (const json::value& rule : rules.as_array())
        if (rule.at("to").as_string() == id)
          for (const json::value& match : rule.at("conditions").at("match").as_array())
            builder.waits_for(std::string(topic), value_of(match.at("expected")), value_of(match.at("actual")));
  }
  if (graph.contains("transitions"))
    for (const auto& [from, list] : graph.at("transitions").as_object())
      for (const json::value& one : list.as_array())
        builder.transition(std::string(from), std::string(one.at("to").as_string()),
                           one.as_object().contains("conditions") ? condition_of(one.at("conditions").as_object())
                                                                  : Condition::always());
  return builder;
}

AppBuilder said_app(const json::object& app) {
  const json::value& version = app.at("version");
  AppBuilder builder(std::string(app.at("id").as_string()),
                     version.is_string() ? std::string(version.as_string()) : json::serialize(version));
  for (const auto& [key, value] : app) {
    if (key == "title") builder.title(std::string(value.as_string()));
    if (key == "settings") builder.settings(value_of(value));
    if (key == "compat") builder.set("compat", value_of(value));
  }
  for (const json::value& graph : app.at("graphs").as_array()) builder.add(said(graph.as_object()));
  return builder;
}

std::string show(const Retry& retry) {
  std::string out = format("{} {} {} {} {} {} {}", retry.attempts(), retry.first_delay().count(), retry.growth(),
                           retry.longest_delay().count(), retry.jitter(), retry.within().count(),
                           static_cast<int>(retry.when_exhausted()));
  for (const std::int32_t code : retry.never_on()) out += format(" never {}", code);
  std::map<std::int32_t, std::string> rules;
  for (const Retry::ForCode& one : retry.for_codes()) rules[one.code] = show(one.rule);
  for (const auto& [code, rule] : rules) out += format(" [{}: {}]", code, rule);
  return out;
}

// All that a compiled graph has beside its expressions.
std::string show(const Graph& graph) {
  std::string out = format("{} {} {} {} {}\n", graph.name().raw(), graph.version(), graph.drains(), graph.hands_on(),
                           name_of(graph.collation()));
  for (const Graph::Node& node : graph.nodes()) {
    const Policy& policy = node.policy;
    out += format("{} {} '{}' {} {} {} {}/{} pivot {} {} undo {} {}", node.name.raw(), name_of(node.kind),
                  node.topic.raw(), node.depth, node.aim.value_or(9999), node.need, node.edges_in, node.edges.size(),
                  node.is_pivot, node.before_join, node.undo.value_or(9999), node.calls_off.size());
    out += format(" {} {} {} {} {} {} {} {} '{}'", policy.retries, policy.timeouts.attempt().count(),
                  policy.timeouts.heartbeat().count(), policy.timeouts.queue().count(), policy.timeouts.total().count(),
                  static_cast<int>(policy.guarantee), static_cast<int>(policy.when_unknown), policy.priority,
                  policy.retries ? show(policy.retry) : "");
    for (const Graph::Edge& edge : node.edges)
      out += format(" {}:{}:{}", edge.to, edge.number, static_cast<int>(edge.when.kind()));
    out += "\n";
  }
  return out;
}

// One form of a value: keys in ascending order, whole numbers as integers.
json::value canonical(const json::value& value) {
  if (const auto* list = value.if_array()) {
    json::array made;
    for (const json::value& item : *list) made.push_back(canonical(item));
    return made;
  }
  if (const auto* object = value.if_object()) {
    std::map<std::string, const json::value*> sorted;
    for (const auto& [key, item] : *object) sorted.emplace(key, &item);
    json::object made;
    for (const auto& [key, item] : sorted) made.emplace(key, canonical(*item));
    return made;
  }
  const double* number = value.if_double();
  const bool whole = number != nullptr && std::abs(*number) < 1e15 && std::trunc(*number) == *number;
  return whole ? json::value(static_cast<std::int64_t>(*number)) : value;
}

// The document without what two forms may write in two ways: times and tries are compared as they are compiled.
json::value normal(json::value document) {
  for (json::value& one : document.at("app").at("graphs").as_array()) {
    json::object& graph = one.as_object();
    if (graph.contains("collation") && graph.at("collation") == "ledger") graph.erase("collation");
    if (graph.contains("input_from") && graph.at("input_from") == "maps") graph.erase("input_from");
    for (const char* empty : {"transitions", "hooks"})
      if (graph.contains(empty) && graph.at(empty).is_object() && graph.at(empty).as_object().empty())
        graph.erase(empty);
    for (auto& activity : graph.at("activities").as_object()) {
      json::object& keys = activity.value().as_object();
      for (const char* key : {"retry", "timeouts", "guarantee", "when_unknown"}) keys.erase(key);
      if (keys.contains("type") && keys.at("type") == "activity") keys.at("type") = "hook";
      if (keys.contains("type") && keys.at("type") == "hook" && keys.contains("cycle") && keys.at("cycle") == false)
        keys.erase("cycle");
    }
    if (graph.contains("transitions"))
      for (auto& list : graph.at("transitions").as_object())
        for (json::value& transition : list.value().as_array()) {
          json::object& keys = transition.as_object();
          if (!keys.contains("conditions")) continue;
          json::object& conditions = keys.at("conditions").as_object();
          if (conditions.empty())
            keys.erase("conditions");
          else if (conditions.contains("code") && !conditions.at("code").is_array())
            conditions.at("code") = json::array{conditions.at("code")};
        }
    if (graph.contains("hooks"))
      for (auto& list : graph.at("hooks").as_object()) {
        std::set<std::string> sorted;
        for (json::value& rule : list.value().as_array()) {
          rule.at("conditions").as_object().erase("gate");
          sorted.insert(json::serialize(canonical({rule.at("to"), rule.at("conditions").at("match")})));
        }
        list.value() = json::value_from(sorted);
      }
  }
  json::value& version = document.at("app").at("version");
  if (!version.is_string()) version = json::string(json::serialize(version));
  return canonical(document);
}

// As the reader sees it, references to other files written out.
json::value document_of_app(const graph::Loader& loader, const std::string& file) {
  graph::Sources sources;
  graph::Mistakes mistakes;
  const auto root = graph::load_document(loader, file, sources, mistakes);
  if (!root) return nullptr;
  json::value document = graph::to_json(*root);
  json::object only{{"app", document.at("app")}};
  return only;
}

void expect_the_same(const graph::Loader& loader, const std::string& file, const std::string& what) {
  const graph::Checked original = graph::check(loader, file);
  ASSERT_NE(original.app, nullptr) << what << graph::report_text(original, graph::Colours::off);
  const json::value document = document_of_app(loader, file);
  const AppBuilder builder = said_app(document.at("app").as_object());
  const graph::Checked again = graph::check_text(builder.yaml());
  ASSERT_NE(again.app, nullptr) << what << graph::report_text(again, graph::Colours::off) << builder.yaml();
  const json::value said_again = document_of_app(graph::MemoryLoader({{"app.yaml", builder.yaml()}}), "app.yaml");
  EXPECT_EQ(json::serialize(normal(said_again)), json::serialize(normal(document))) << what << "\n" << builder.yaml();
  const auto first = assemble(original.app, "same"), second = assemble(again.app, "same");
  ASSERT_TRUE(first.ok() && second.ok()) << what;
  ASSERT_EQ(first->size(), second->size());
  for (std::size_t i = 0; i < first->size(); ++i) EXPECT_EQ(show((*first)[i]), show((*second)[i])) << what;
  // One form of the text: saying it once more changes nothing.
  EXPECT_EQ(said_app(said_again.at("app").as_object()).yaml(), builder.yaml()) << what;
}

std::vector<fs::path> files_of(const char* folder) {
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(fs::path(PAWL_SOURCE_DIR) / folder))
    if (entry.path().extension() == ".yaml") files.push_back(entry.path());
  return files;
}

TEST(TwoForms, say_the_same_in_every_example) {
  const auto files = files_of("examples/graphs");
  ASSERT_GE(files.size(), 10U);
  for (const fs::path& path : files)
    expect_the_same(graph::FolderLoader(path.parent_path().string()), path.filename().string(), path.string());
}

TEST(TwoForms, say_the_same_in_every_case) {
  std::size_t count = 0;
  for (const fs::path& path : files_of("tests/graphs")) {
    graph::Sources sources;
    graph::Mistakes mistakes;
    std::ifstream stream(path);
    std::stringstream all;
    all << stream.rdbuf();
    const auto file = sources.add(path.filename().string(), all.str());
    const auto root = graph::parse_yaml(sources, file, mistakes);
    ASSERT_TRUE(root) << path;
    for (const graph::Node& one : root->find("cases")->items) {
      const graph::Node* app = one.find("app");
      if (app == nullptr || app->text.empty()) continue;
      const graph::MemoryLoader loader({{"app.yaml", app->text}});
      if (graph::check(loader, "app.yaml").app == nullptr) continue;  // a case of what is refused
      expect_the_same(loader, "app.yaml", path.string() + ": " + one.find("name")->text);
      ++count;
    }
  }
  EXPECT_GE(count, 150U);
}

// Where the word must stand in the document of `sample_of`.
std::string pointer_of(Level level, const std::string& key) {
  const std::string graph = "/app/graphs/0";
  switch (level) {
    case Level::app:
      return "/app/" + key;
    case Level::graph:
      return graph + "/" + key;
    case Level::stats:
      return graph + "/activities/x/stats/" + key;
    case Level::measure:
      return graph + "/activities/x/stats/measures/0/" + key;
    case Level::schemas:
      return graph + "/input/" + key;
    case Level::channel:
      return graph + "/activities/x/input/" + key;
    case Level::retry:
      return graph + "/activities/x/retry/" + key;
    case Level::timeouts:
      return graph + "/activities/x/timeouts/" + key;
    case Level::transition:
      return graph + "/transitions/t/0/" + key;
    case Level::conditions:
      return graph + "/transitions/t/0/conditions/" + key;
    case Level::match:
      return graph + "/transitions/t/0/conditions/match/0/" + key;
    case Level::hook_rule:
      return graph + "/hooks/told/0/" + key;
    case Level::hook_conditions:
      return graph + "/hooks/told/0/conditions/" + key;
    default:
      return graph + "/activities/x/" + key;
  }
}

// A builder that says all that the levels below an activity have.
GraphBuilder full() {
  return GraphBuilder("g")
      .input_schema(Fields{})
      .trigger("t")
      .worker("x", "topic")
      .after("t", Condition::match("{t.output.data.a}", 1).or_match("{t.output.data.b}", 2).with_code(200))
      .input(Fields{{"a", 1}})
      .input_schema(Fields{})
      .retry(Retry()
                 .attempts(5)
                 .first_delay(std::chrono::milliseconds(250))
                 .growth(3)
                 .longest_delay(std::chrono::seconds(9))
                 .jitter(0.5)
                 .within(std::chrono::minutes(1))
                 .never_on({402})
                 .when_exhausted(WhenExhausted::park))
      .timeouts(Timeouts()
                    .attempt(std::chrono::seconds(1))
                    .heartbeat(std::chrono::seconds(2))
                    .queue(std::chrono::seconds(3))
                    .total(std::chrono::seconds(4)))
      .hook("h")
      .after("x")
      .waits_for("told", 1, "{$hook.data.id}");
}

AppBuilder sample_of(Level level, const std::string& key) {
  AppBuilder app("g", "1");
  app.title("A title").settings(Fields{{"a", 1}}).set("compat", "pawl");
  if (level == Level::stats || level == Level::measure) {
    const Stats stats = Stats()
                            .id("{$self.input.data.id}")
                            .key("k")
                            .parent("p")
                            .adjacent("a")
                            .granularity("1h")
                            .measure("sum", "{$self.input.data.n}")
                            .count();
    return app.add(GraphBuilder("g").trigger("x").stats(stats));
  }
  if (level == Level::hook_conditions && key == "gate") return app.add(full());
  if (level > Level::map || level == Level::app) return app.add(full());
  const auto found = sayings().find({level, key});
  if (found == sayings().end() || std::string_view(found->second.sample).empty()) return app.add(full());
  const Saying& saying = found->second;
  GraphBuilder graph("g");
  if (level == Level::graph) saying.call(graph, value_of(json_of(saying.sample)));
  if (level == Level::trigger) {
    graph.trigger("x");
    saying.call(graph, value_of(json_of(saying.sample)));
    return app.add(graph);
  }
  graph.trigger("t");
  if (level == Level::worker || level == Level::graph || level == Level::activity)
    graph.worker("x", "topic").after("t");
  if (level == Level::await) graph.await("x", "g").after("t");
  if (level == Level::hook) graph.hook("x").after("t");
  if (level == Level::signal) graph.signal("x", "told").after("t").to_all();
  if (level == Level::interrupt) graph.interrupt("x").after("t");
  if (level == Level::join) graph.hook("a").after("t").hook("b").after("t").join("x").after("a").after("b");
  if (level == Level::map) graph.map("x", Values{1, 2}, "end").after("t");
  if (level != Level::graph) saying.call(graph, value_of(json_of(saying.sample)));
  if (level == Level::map) graph.hook("body").after("x").join("end").after("body");
  if (level == Level::signal) graph.hook("h").after("x").waits_for("told", 1, "{$hook.data.id}");
  if (key == "compensate") graph.worker("undo", "undo.it");
  return app.add(graph);
}

TEST(TwoForms, every_word_of_the_language_has_a_call) {
  // What only files have: the builder has the one form that means the same.
  const std::set<std::pair<Level, std::string>> not_said{{Level::hook_conditions, "gate"}};
  for (const graph::Word& word : graph::words()) {
    const std::string key(word.key);
    const bool of_kind = word.level == Level::graph || (word.level >= Level::activity && word.level <= Level::map);
    if (of_kind) {
      EXPECT_TRUE(sayings().contains({word.level, key}))
          << "no call of the builder is known for the key '" << key << "'";
    }
    if (not_said.contains({word.level, key})) continue;
    if (word.level == Level::cycle || (word.level == Level::map && (key == "items" || key == "join"))) continue;
    const bool with_its_name = of_kind && sayings().contains({word.level, key}) &&
                               std::string_view(sayings().at({word.level, key}).sample).empty();
    if (with_its_name && word.level != Level::graph) continue;  // said by worker("x", "topic") and its like
    const std::string yaml = sample_of(word.level, key).yaml();
    const json::value document = document_of_app(graph::MemoryLoader({{"app.yaml", yaml}}), "app.yaml");
    boost::system::error_code missing;
    (void)document.find_pointer(pointer_of(word.level, key), missing);
    EXPECT_FALSE(missing) << pointer_of(word.level, key) << " is not there:\n" << yaml;
    const graph::Checked checked = graph::check_text(yaml);
    for (const graph::Mistake& mistake : checked.mistakes)
      EXPECT_NE(mistake.code, graph::Code::unknown_key) << mistake.path << ": " << mistake.message << "\n" << yaml;
  }
  for (const auto& [word, saying] : sayings())
    EXPECT_TRUE(graph::is_word(word.first, word.second)) << word.second << " is no word of the language";
}

// As docs/GRAPHS.md has it.
TEST(TwoForms, the_example_of_the_page_is_right) {
  const auto trip = GraphBuilder("trip")
                        .input_from(InputFrom::maps)
                        .trigger("booked")
                        .worker("flight", "flight.book")
                        .after("booked")
                        .compensate("no_flight")
                        .worker("no_flight", "flight.cancel")
                        .input(Fields{{"ticket", "{flight.output.data.ticket}"}})
                        .retry(Retry().attempts(10))
                        .hook("sure")
                        .after("flight")
                        .sleep(std::chrono::hours(1))
                        .waits_for("trip.sure", "{$job.metadata.jid}", "{$self.hook.data.trip}")
                        .worker("car", "car.book")
                        .after("sure", Condition::match("{sure.hook.data.yes}", true));
  const auto app = trip.build();
  ASSERT_TRUE(app) << app.error().detail;
}

TEST(TwoForms, every_call_of_the_builder_is_a_word) {
  std::ifstream stream(fs::path(PAWL_SOURCE_DIR) / "include/pawl/graph.h");
  std::stringstream all;
  all << stream.rdbuf();
  const std::string header = all.str();
  const std::string body = header.substr(header.find("class GraphBuilder {"),
                                         header.find("class AppBuilder {") - header.find("class GraphBuilder {"));
  const std::string shown = body.substr(0, body.find(" private:"));
  std::set<std::string> known;
  for (const auto& [word, saying] : sayings()) {
    std::istringstream methods(saying.methods);
    for (std::string method; methods >> method;) known.insert(method);
  }
  const std::regex call(R"(GraphBuilder& (\w+)\()");
  std::size_t count = 0;
  for (std::sregex_iterator at(shown.begin(), shown.end(), call), end; at != end; ++at, ++count)
    EXPECT_TRUE(known.contains((*at)[1])) << "no key of the language is known for " << (*at)[1] << "()";
  EXPECT_GE(count, 60U);
}

}  // namespace
}  // namespace pawl::execute
