#include <algorithm>
#include <boost/json.hpp>

#include "base/format.h"
#include "base/limits.h"
#include "graph/read/read.h"

namespace pawl::graph {
namespace {

constexpr std::string_view threshold_words[] = {"stop", "throw", "stall"};

// Keys that HotMesh's compiler writes into its own files; in our files they would be wrong.
constexpr std::string_view compiler_keys[] = {"trigger",  "subscribes", "publishes", "parent",      "ancestors",
                                              "consumes", "produces",   "PRODUCES",  "collationInt"};

constexpr std::string_view types[] = {"trigger", "worker",    "await", "hook", "signal",
                                      "cycle",   "interrupt", "join",  "map",  "activity"};

std::string_view read_type(const Cursor& at, const Reader& reader) {
  const Entry* entry = at.node().find_entry("type");
  if (entry == nullptr) {
    if (at.node().is_map()) reader.missing(at, "type");
    return "hook";
  }
  const Cursor here(at, *entry);
  const auto found = std::find(std::begin(types), std::end(types), entry->value.text);
  if (entry->value.is_text() && found != std::end(types)) return *found == "activity" ? "hook" : *found;
  reader.report(here, Code::unknown_kind,
                format("there is no activity type {}; there are {}",
                       entry->value.is_text() ? format("'{}'", entry->value.text) : describe(entry->value),
                       any_of(std::span(types).first(9))),
                nearest(entry->value.text, types));
  // A typing error in the trigger's type should not also give "there is no trigger".
  return nearest(entry->value.text, types) == "trigger" ? "trigger" : "";
}

// Keys that HotMesh reads and never uses.
void ignore_as_the_original_does(const Cursor& at, const Reader& reader, Activity& activity) {
  const auto warn = [&](std::string_view key) {
    if (const Entry* entry = at.node().find_entry(key))
      reader.warn(Cursor(at, *entry).key_where(), Code::no_effect,
                  format("'{}' has no effect under compat: hotmesh", key));
  };
  if (activity.timeout) warn("timeout");
  activity.timeout.reset();
  if (!activity.job.maps_by_code.empty()) warn("job");
  activity.job.maps_by_code.clear();
}

}  // namespace

Activity read_activity(const Cursor& at, const Reader& reader) {
  Activity activity{.id = std::string(at.key()),
                    .title = {},
                    .kind = Hook{},
                    .input = {},
                    .output = {},
                    .job = {},
                    .telemetry = {},
                    .emit = {},
                    .persist = {},
                    .status_threshold = {},
                    .timeout = {},
                    .retry = {},
                    .compensate = {},
                    .compensate_where = {},
                    .settings = {},
                    .where = at.where()};
  const std::string_view type = read_type(at, reader);
  const bool known_type = !type.empty();
  if (!at.node().is_map()) {
    (void)reader.expect_map(at);
    return activity;
  }
  const auto channel = [&reader](Channel& out) {
    return [&reader, &out](const Cursor& key) { out = read_channel(key, reader, ChannelKeys::schema_and_maps); };
  };
  const auto no_effect = [&reader](const Cursor& key) {
    reader.warn(key.key_where(), Code::no_effect, format("'{}' has no effect", key.key()));
  };
  std::vector<Key> common{
      {"type", {}},
      {"subtype", {}},
      {"title", reader.into(activity.title)},
      {"input", channel(activity.input)},
      {"output", channel(activity.output)},
      {"job", channel(activity.job)},
      {"telemetry", reader.into(activity.telemetry, Expect::map)},
      {"emit", reader.into(activity.emit, Expect::boolean)},
      {"persist", reader.into(activity.persist, Expect::boolean)},
      {"statusThreshold", reader.into(activity.status_threshold, Expect::number)},
      {"statusThresholdType",
       [&](const Cursor& key) {
         if (reader.choice(key, threshold_words)) no_effect(key);
       }},
      {"timeout", reader.into(activity.timeout, Expect::seconds)},
      {"settings", [&](const Cursor& key) { activity.settings = to_json(key.node()); }},
      {"eventName", no_effect},
  };
  if (type == "worker" || type == "await" || !known_type)
    common.push_back({"retry", [&](const Cursor& key) { activity.retry = read_retry(key, reader); }});
  if (type == "worker" || type == "await" || type == "hook" || type == "signal" || !known_type)
    common.push_back({"compensate", [&](const Cursor& key) {
                        activity.compensate = reader.text(key).value_or("");
                        activity.compensate_where = key.where();
                      }});
  for (const std::string_view key : compiler_keys)
    if (at.node().find(key) != nullptr)
      common.push_back({key,
                        [&reader](const Cursor& here) {
                          reader.report(here.key_where(), Code::unknown_key,
                                        format("'{}' is worked out from the transitions; remove it", here.key()));
                        },
                        true});
  activity.kind = read_kind(type, at, reader, std::move(common));
  if (reader.dialect() == Dialect::hotmesh) ignore_as_the_original_does(at, reader, activity);

  const bool maps_output = type != "worker" && type != "await" && type != "trigger";
  if (known_type && !maps_output && activity.output.maps)
    if (const Entry* output = at.node().find_entry("output"))
      reader.warn(Cursor(at, *output).key_where(), Code::no_effect,
                  format("'output.maps' has no effect on a {}: what it answers is its output", type));
  const bool can_time_out = type == "worker" || type == "await" || type == "hook" || type == "join" || type == "map";
  if (known_type && !can_time_out && activity.timeout)
    if (const Entry* timeout = at.node().find_entry("timeout"))
      reader.warn(Cursor(at, *timeout).key_where(), Code::no_effect,
                  format("'timeout' has no effect on a {}: it never waits", type));
  return activity;
}

namespace {

constexpr std::string_view exhausted_words[] = {"park", "fail"};

std::vector<Key> rule_keys(RetryRule& rule, const Reader& reader) {
  constexpr double growth_max = 1000;
  const auto attempts_limit = static_cast<std::int64_t>(limits::attempts_max);
  return {
      {"maximumAttempts",
       [&, attempts_limit](const Cursor& key) {
         rule.attempts_max = static_cast<int>(reader.whole(key, 1, attempts_limit).value_or(1));
       }},
      {"initialInterval", [&](const Cursor& key) { rule.initial_interval = reader.seconds(key); }},
      {"maximumInterval", [&](const Cursor& key) { rule.maximum_interval = reader.seconds(key); }},
      {"backoffCoefficient", [&](const Cursor& key) { rule.backoff_coefficient = reader.number(key, 1, growth_max); }},
      {"jitter", [&](const Cursor& key) { rule.jitter = reader.number(key, 0, 1); }},
      {"within", [&](const Cursor& key) { rule.within = reader.seconds(key); }},
      {"when_exhausted",
       [&](const Cursor& key) {
         if (const auto word = reader.choice(key, exhausted_words))
           rule.when_exhausted = static_cast<WhenExhausted>(*word);
       }},
  };
}

void read_coded_rule(const Cursor& at, int code, const Reader& reader, std::vector<RetryRule>& rules) {
  RetryRule rule;
  rule.code = code;
  if (at.node().is_map()) {
    reader.keys(at, Level::retry, rule_keys(rule, reader));
    if (at.node().find("maximumAttempts") == nullptr) reader.missing(at, "maximumAttempts");
  } else if (at.node().is_list() && at.node().items.size() == 1) {
    // HotMesh's short form counts retries, not attempts.
    const auto most = static_cast<std::int64_t>(limits::attempts_max);
    rule.attempts_max = 1 + static_cast<int>(reader.whole(Cursor(at, 0), 0, most).value_or(0));
  } else {
    reader.report(at, Code::wrong_type, "a code's retry is a list of one number or a map such as {maximumAttempts: 3}");
    return;
  }
  rules.push_back(std::move(rule));
}

}  // namespace

std::vector<RetryRule> read_retry(const Cursor& at, const Reader& reader) {
  std::vector<RetryRule> rules;
  if (!reader.expect_map(at)) return rules;
  RetryRule general;
  std::vector<Key> keys = rule_keys(general, reader);
  keys.push_back({"never_on", [&](const Cursor& key) {
                    if (!reader.expect_list(key)) return;
                    for (std::size_t i = 0; i < key.node().items.size(); ++i)
                      if (const auto code = reader.code(Cursor(key, i))) general.never_on.push_back(*code);
                  }});
  const std::size_t general_keys = keys.size();
  for (const Entry& entry : at.node().entries)
    if (const auto code = parse_code(entry.key))
      keys.push_back({entry.key, [&, code](const Cursor& key) { read_coded_rule(key, *code, reader, rules); }});
  reader.keys(at, Level::retry, keys);
  for (const RetryRule& rule : rules)
    if (std::find(general.never_on.begin(), general.never_on.end(), *rule.code) != general.never_on.end())
      reader.report(at, Code::bad_value, format("'never_on' names {}, which has a rule of its own", *rule.code));
  for (std::size_t i = 0; i < general_keys; ++i)
    if (at.node().find(keys[i].name) != nullptr) {
      if (at.node().find("maximumAttempts") == nullptr) reader.missing(at, "maximumAttempts");
      rules.push_back(std::move(general));
      break;
    }
  return rules;
}

}  // namespace pawl::graph
