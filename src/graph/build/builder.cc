// The builder's calls write a document. The reader and the checks find its meaning and its mistakes, as for any other
// document.
#include <algorithm>

#include "base/format.h"
#include "base/invariant.h"
#include "graph/build/document.h"
#include "graph/check.h"
#include "graph/report.h"
#include "graph/words.h"
#include "pawl/graph.h"

namespace pawl {
namespace {

using graph::Level;

Value* find_field(Fields& fields, std::string_view key) {
  const auto found = std::find_if(fields.begin(), fields.end(), [&](const auto& field) { return field.first == key; });
  return found == fields.end() ? nullptr : &found->second;
}

void put_field(Fields& fields, const std::string& key, Value value) {
  if (Value* known = find_field(fields, key))
    *known = std::move(value);
  else
    fields.emplace_back(key, std::move(value));
}

// A call that writes a key outside the language is a bug of the builder; set() may write anything, and is checked.
void put_word(Fields& fields, Level level, const std::string& key, Value value) {
  invariant(graph::is_word(level, key), "the builder writes words of the language");
  put_field(fields, key, std::move(value));
}

Fields fields_in(Fields& fields, const std::string& key) {
  const Value* known = find_field(fields, key);
  const Fields* inside = known == nullptr ? nullptr : known->get<Fields>();
  return inside == nullptr ? Fields{} : *inside;
}

Fields match_of(Value actual, Value expected) {
  Fields match;
  put_word(match, Level::match, "actual", std::move(actual));
  put_word(match, Level::match, "expected", std::move(expected));
  return match;
}

void add_to_list(Fields& fields, const std::string& key, Value value) {
  Value* known = find_field(fields, key);
  Values list;
  if (known != nullptr) {
    if (const Values* before = known->get<Values>())
      list = *before;
    else
      list.push_back(*known);
  }
  list.push_back(std::move(value));
  put_field(fields, key, std::move(list));
}

// Only what differs from the reader's defaults.
Fields retry_fields(const Retry& retry, const Retry& otherwise) {
  Fields out;
  const auto put = [&](const char* key, bool differs, Value value) {
    if (differs) put_word(out, Level::retry, key, std::move(value));
  };
  put("maximumAttempts", true, retry.attempts());
  put("initialInterval", retry.first_delay() != otherwise.first_delay(), retry.first_delay());
  put("backoffCoefficient", retry.growth() != otherwise.growth(), retry.growth());
  put("maximumInterval", retry.longest_delay() != otherwise.longest_delay(), retry.longest_delay());
  put("jitter", retry.jitter() != otherwise.jitter(), retry.jitter());
  put("within", retry.within() != otherwise.within(), retry.within());
  if (!retry.never_on().empty()) put("never_on", true, Values(retry.never_on().begin(), retry.never_on().end()));
  put("when_exhausted", retry.when_exhausted() != otherwise.when_exhausted(),
      retry.when_exhausted() == WhenExhausted::park ? "park" : "fail");
  for (const Retry::ForCode& one : retry.for_codes())
    put_field(out, format("{}", one.code), retry_fields(one.rule, retry));
  return out;
}

Result<AppText> checked_text(const Value& document) {
  if (std::string broken = graph::broken_part(document); !broken.empty())
    return Error{ErrorCode::invalid, std::move(broken)};
  AppText app{graph::yaml_text(document)};
  const graph::Checked checked = graph::check_text(app.text);
  if (checked.app != nullptr) return app;
  const bool too_much =
      std::any_of(checked.mistakes.begin(), checked.mistakes.end(),
                  [](const graph::Mistake& mistake) { return mistake.code == graph::Code::over_limit; });
  return Error{too_much ? ErrorCode::over_limit : ErrorCode::invalid, graph::mistakes_by_key(checked)};
}

}  // namespace

Condition Condition::codes(std::vector<std::int32_t> values) {
  Condition condition;
  put_word(condition.fields_, Level::conditions, "code", Values(values.begin(), values.end()));
  return condition;
}

Condition Condition::error() {
  Condition condition;
  put_word(condition.fields_, Level::conditions, "code", "error");
  return condition;
}

Condition Condition::match(Value actual, Value expected) {
  Condition condition;
  condition.and_match(std::move(actual), std::move(expected));
  return condition;
}

Condition& Condition::and_match(Value actual, Value expected) {
  add_to_list(fields_, "match", match_of(std::move(actual), std::move(expected)));
  return *this;
}

Condition& Condition::or_match(Value actual, Value expected) {
  put_word(fields_, Level::conditions, "gate", "or");
  return and_match(std::move(actual), std::move(expected));
}

Condition& Condition::with_code(std::int32_t value) { return add_to_list(fields_, "code", value), *this; }
Condition& Condition::with_error() { return add_to_list(fields_, "code", "error"), *this; }
Condition& Condition::set(const std::string& key, Value value) {
  return put_field(fields_, key, std::move(value)), *this;
}

Stats& Stats::set(const std::string& key, Value value) { return put_field(fields_, key, std::move(value)), *this; }

Stats& Stats::measure(std::string what, Value target) {
  Fields one;
  put_word(one, Level::measure, "measure", std::move(what));
  if (!target.is_null()) put_word(one, Level::measure, "target", std::move(target));
  add_to_list(fields_, "measures", std::move(one));
  return *this;
}

GraphBuilder::GraphBuilder(std::string name, std::uint32_t version) : name_(std::move(name)), version_(version) {}

GraphBuilder& GraphBuilder::add(std::string name, ActivityKind kind) {
  Said said{std::move(name), kind, {}};
  put_word(said.keys, Level::activity, "type", std::string(name_of(kind)));
  activities_.push_back(std::move(said));
  return *this;
}

GraphBuilder& GraphBuilder::set(const std::string& key, Value value) {
  put_field(last(), key, std::move(value));
  return *this;
}

GraphBuilder& GraphBuilder::set_graph(const std::string& key, Value value) {
  put_word(graph_, Level::graph, key, std::move(value));
  return *this;
}

GraphBuilder& GraphBuilder::set_in(const std::string& channel, const std::string& key, Value value) {
  Fields inside = fields_in(last(), channel);
  put_word(inside, Level::channel, key, std::move(value));
  return set(channel, std::move(inside));
}

GraphBuilder& GraphBuilder::set_coded(const std::string& channel, std::int32_t code, const std::string& key,
                                      Value value) {
  Fields inside = fields_in(last(), channel);
  Fields coded = fields_in(inside, format("{}", code));
  put_word(coded, Level::channel, key, std::move(value));
  put_field(inside, format("{}", code), std::move(coded));
  return set(channel, std::move(inside));
}

GraphBuilder& GraphBuilder::worker(std::string name, Value topic) {
  return add(std::move(name), ActivityKind::worker).set("topic", std::move(topic));
}
GraphBuilder& GraphBuilder::await(std::string name, Value topic) {
  return add(std::move(name), ActivityKind::await).set("topic", std::move(topic));
}
GraphBuilder& GraphBuilder::signal(std::string name, Value topic) {
  return add(std::move(name), ActivityKind::signal).set("topic", std::move(topic));
}
GraphBuilder& GraphBuilder::cycle(std::string name, std::string ancestor) {
  return add(std::move(name), ActivityKind::cycle).set("ancestor", std::move(ancestor));
}
GraphBuilder& GraphBuilder::map(std::string name, Value items, std::string join) {
  return add(std::move(name), ActivityKind::map).set("items", std::move(items)).set("join", std::move(join));
}

GraphBuilder& GraphBuilder::after(std::string parent, Condition when) {
  links_.push_back({std::move(parent), activities_.empty() ? "" : activities_.back().name, std::move(when)});
  return *this;
}
GraphBuilder& GraphBuilder::transition(std::string from, std::string to, Condition when) {
  links_.push_back({std::move(from), std::move(to), std::move(when)});
  return *this;
}

GraphBuilder& GraphBuilder::on_error(OnError then) {
  return set_graph("on_error", then == OnError::drain ? "drain" : "fail");
}
GraphBuilder& GraphBuilder::collation(Collation collation) {
  // The default is not written: the graph stays the same as one that does not set it.
  if (collation != Collation::ledger) return set_graph("collation", std::string(name_of(collation)));
  std::erase_if(graph_, [](const auto& field) { return field.first == "collation"; });
  return *this;
}
GraphBuilder& GraphBuilder::input_from(InputFrom source) {
  return set_graph("input_from", source == InputFrom::answers ? "answers" : "maps");
}

GraphBuilder& GraphBuilder::output_schema(std::int32_t code, Value schema) {
  return set_coded("output", code, "schema", std::move(schema));
}
GraphBuilder& GraphBuilder::output(std::int32_t code, Value maps) {
  return set_coded("output", code, "maps", std::move(maps));
}
GraphBuilder& GraphBuilder::job(std::int32_t code, Value maps) {
  return set_coded("job", code, "maps", std::move(maps));
}

GraphBuilder& GraphBuilder::retry(const Retry& policy) { return set("retry", retry_fields(policy, Retry())); }

GraphBuilder& GraphBuilder::timeouts(const Timeouts& limits) {
  Fields out;
  const auto put = [&](const char* key, Duration time) {
    if (time.count() != 0) put_word(out, Level::timeouts, key, time);
  };
  put("attempt", limits.attempt());
  put("heartbeat", limits.heartbeat());
  put("queue", limits.queue());
  put("total", limits.total());
  return set("timeouts", std::move(out));
}

GraphBuilder& GraphBuilder::at_most_once(WhenUnknown then) {
  const char* words[] = {"hold", "retry", "ask_probe"};
  return set("guarantee", "at_most_once").set("when_unknown", words[static_cast<std::size_t>(then)]);
}

GraphBuilder& GraphBuilder::waits_for(std::string topic, Value expected, Value actual) {
  const std::string to = activities_.empty() ? "" : activities_.back().name;
  if (rules_.empty() || rules_.back().topic != topic || rules_.back().to != to)
    rules_.push_back({std::move(topic), to, {}});
  rules_.back().matches.emplace_back(match_of(std::move(actual), std::move(expected)));
  return *this;
}

Value GraphBuilder::document() const {
  Fields out;
  put_word(out, Level::graph, "subscribes", name_);
  for (const auto& [key, value] : graph_) put_field(out, key, value);
  // A C++ program without maps means the answers, unless it sets input_from.
  if (find_field(out, "input_from") == nullptr) put_word(out, Level::graph, "input_from", "answers");
  Fields activities, transitions, hooks;
  for (const Said& said : activities_) activities.emplace_back(said.name, said.keys);
  for (const Link& link : links_) {
    Fields one;
    put_word(one, Level::transition, "to", link.to);
    if (!link.when.fields().empty()) put_word(one, Level::transition, "conditions", link.when.fields());
    add_to_list(transitions, link.from, std::move(one));
  }
  for (const Rule& rule : rules_) {
    Fields conditions, one;
    put_word(conditions, Level::hook_conditions, "match", rule.matches);
    put_word(one, Level::hook_rule, "to", rule.to);
    put_word(one, Level::hook_rule, "conditions", std::move(conditions));
    add_to_list(hooks, rule.topic, std::move(one));
  }
  put_word(out, Level::graph, "activities", std::move(activities));
  if (!transitions.empty()) put_word(out, Level::graph, "transitions", std::move(transitions));
  if (!hooks.empty()) put_word(out, Level::graph, "hooks", std::move(hooks));
  return out;
}

std::string GraphBuilder::yaml() const { return AppBuilder(name_, format("{}", version_)).add(*this).yaml(); }

Result<AppText> GraphBuilder::build() const { return AppBuilder(name_, format("{}", version_)).add(*this).build(); }

AppBuilder::AppBuilder(std::string id, std::string version) {
  put_word(keys_, Level::app, "id", std::move(id));
  put_word(keys_, Level::app, "version", std::move(version));
}

AppBuilder& AppBuilder::add(const GraphBuilder& graph) { return graphs_.push_back(graph.document()), *this; }

AppBuilder& AppBuilder::set(const std::string& key, Value value) {
  return put_field(keys_, key, std::move(value)), *this;
}

Value AppBuilder::document() const {
  Fields app = keys_;
  put_word(app, Level::app, "graphs", graphs_);
  return Fields{{"app", std::move(app)}};
}

std::string AppBuilder::yaml() const { return graph::yaml_text(document()); }

Result<AppText> AppBuilder::build() const { return checked_text(document()); }

}  // namespace pawl
