#include "execute/builder_calls_test.h"

#include <gtest/gtest.h>

#include "graph/node.h"
#include "graph/yaml.h"

namespace pawl::execute {

namespace json = boost::json;
using graph::Level;

Value value_of(const json::value& from) { return Value::json(json::serialize(from)); }

namespace {

using Call = std::function<void(GraphBuilder&, const Value&)>;

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

// A schema and maps, also those for a code.
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

}  // namespace

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

namespace {

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

// The graph of a document, built in C++.
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

}  // namespace

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

json::value document_of_app(const graph::Loader& loader, const std::string& file) {
  graph::Sources sources;
  graph::Mistakes mistakes;
  const auto root = graph::load_document(loader, file, sources, mistakes);
  if (!root) return nullptr;
  json::value document = graph::to_json(*root);
  json::object only{{"app", document.at("app")}};
  return only;
}

}  // namespace pawl::execute
