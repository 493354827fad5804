// The keys that each kind of activity has on top of the common ones; one function per kind.
#include <boost/json.hpp>

#include "base/format.h"
#include "base/limits.h"
#include "graph/limits.h"
#include "graph/read/read.h"

namespace pawl::graph {
namespace {

constexpr std::string_view granularities[] = {"5m", "10m", "15m", "30m", "1h", "infinity"};
constexpr std::string_view measure_words[] = {"count", "sum", "avg", "min", "max", "mdn", "index"};
constexpr std::string_view signal_subtypes[] = {"one", "all"};
constexpr std::string_view status_words[] = {"success", "pending", "error"};
constexpr std::string_view guarantee_words[] = {"at_least_once", "at_most_once"};
constexpr std::string_view unknown_words[] = {"hold", "retry", "ask_probe"};
constexpr std::string_view others_words[] = {"finish", "cancel"};
constexpr std::string_view escalation_keys[] = {
    "role",      "type",     "subtype",  "priority",    "description", "entity", "metadata",  "envelope",
    "expiresAt", "originId", "parentId", "initiatedBy", "traceId",     "spanId", "taskQueue", "workflowType"};

// The keys of each kind beyond the common ones, to report "that is a key of hooks" instead of "unknown".
struct KindKey {
  std::string_view key;
  std::string_view kinds;
};
constexpr KindKey kind_only[] = {
    {"stats", "trigger"},
    {"entity", "trigger"},
    {"await", "await"},
    {"retry", "worker, await"},
    {"compensate", "worker, await, hook, signal"},
    {"timeouts", "worker"},
    {"guarantee", "worker"},
    {"when_unknown", "worker"},
    {"priority", "worker"},
    {"topic", "worker, await, signal, interrupt"},
    {"sleep", "hook"},
    {"hook", "hook"},
    {"escalation", "hook"},
    {"cycle", "hook"},
    {"signal", "signal"},
    {"status", "signal"},
    {"code", "signal, interrupt"},
    {"key_name", "signal"},
    {"key_value", "signal"},
    {"resolver", "signal"},
    {"scrub", "signal"},
    {"ancestor", "cycle"},
    {"target", "interrupt"},
    {"reason", "interrupt"},
    {"throw", "interrupt"},
    {"descend", "interrupt"},
    {"stack", "interrupt"},
    {"expire", "interrupt"},
    {"need", "join"},
    {"others", "join"},
    {"items", "map"},
    {"parallel", "map"},
    {"collect", "map"},
    {"join", "map"},
};

struct Site {
  const Cursor& at;
  const Reader& reader;
  std::vector<Key>& keys;

  void read(std::string_view type, Level level) const {
    std::vector<Key> all = keys;
    for (const KindKey& other : kind_only) {
      bool own = false;
      for (const Key& key : keys) own = own || key.name == other.key;
      if (own || at.node().find(other.key) == nullptr) continue;
      all.push_back({other.key,
                     [this, &other, type](const Cursor& here) {
                       reader.report(here.key_where(), Code::unknown_key,
                                     format("'{}' is a key of {}, not of {}", other.key, other.kinds, type));
                     },
                     true});
    }
    reader.keys(at, level, all);
  }
  // Under compat a value of the wrong type is only a warning; a required one is missing then.
  void require(std::string_view key, bool found) const {
    const bool absent = at.node().find(key) == nullptr;
    if (absent || (!found && reader.dialect() == Dialect::hotmesh)) reader.missing(at, key);
  }
  Formula or_placeholder(OptionalFormula& formula) const {
    return formula ? std::move(*formula) : reader.placeholder(at);
  }
};

Kind read_trigger(const Site& site) {
  Trigger out;
  site.keys.push_back({"stats", [&](const Cursor& key) { out.stats = read_stats(key, site.reader); }});
  site.keys.push_back({"entity", site.reader.into(out.entity, Expect::text)});
  site.read("trigger", Level::trigger);
  return out;
}

Timeouts read_timeouts(const Cursor& at, const Reader& reader) {
  Timeouts out;
  const Key keys[] = {
      {"attempt", [&](const Cursor& key) { out.attempt(reader.duration(key).value_or(Duration{0})); }},
      {"heartbeat", [&](const Cursor& key) { out.heartbeat(reader.duration(key).value_or(Duration{0})); }},
      {"queue", [&](const Cursor& key) { out.queue(reader.duration(key).value_or(Duration{0})); }},
      {"total", [&](const Cursor& key) { out.total(reader.duration(key).value_or(Duration{0})); }},
  };
  reader.keys(at, Level::timeouts, keys);
  return out;
}

Kind read_worker(const Site& site) {
  OptionalFormula topic;
  Worker out{.topic = site.reader.placeholder(site.at)};
  const Reader& reader = site.reader;
  site.keys.push_back({"topic", reader.into(topic, Expect::text)});
  site.keys.push_back({"timeouts", [&](const Cursor& key) {
                         out.timeouts = read_timeouts(key, reader);
                         if (out.timeouts.total().count() != 0 && site.at.node().find("timeout") != nullptr)
                           reader.report(key, Code::bad_value, "'timeout' is the total already; leave one of them out");
                       }});
  site.keys.push_back({"guarantee", [&](const Cursor& key) {
                         out.guarantee = static_cast<Guarantee>(reader.choice(key, guarantee_words).value_or(0));
                       }});
  site.keys.push_back({"when_unknown", [&](const Cursor& key) {
                         out.when_unknown = static_cast<WhenUnknown>(reader.choice(key, unknown_words).value_or(0));
                         const Node* guarantee = site.at.node().find("guarantee");
                         if (guarantee == nullptr || guarantee->text != "at_most_once")
                           reader.report(
                               key.key_where(), Code::bad_value,
                               "'when_unknown' needs 'guarantee: at_most_once'; otherwise nothing is unknown");
                       }});
  site.keys.push_back({"priority", [&](const Cursor& key) {
                         const std::int64_t most = limits::priority_max;
                         out.priority = static_cast<std::int32_t>(reader.whole(key, -most, most).value_or(0));
                       }});
  site.read("worker", Level::worker);
  site.require("topic", topic.has_value());
  out.topic = site.or_placeholder(topic);
  return out;
}

Kind read_await(const Site& site) {
  OptionalFormula topic, await;
  site.keys.push_back({"topic", site.reader.into(topic, Expect::text)});
  site.keys.push_back({"await", site.reader.into(await, Expect::boolean)});
  site.read("await", Level::await);
  site.require("topic", topic.has_value());
  return Await{site.or_placeholder(topic), std::move(await)};
}

void check_escalation(const Cursor& at, const Reader& reader) {
  std::vector<Key> keys;
  for (const std::string_view key : escalation_keys) keys.push_back({key, {}, true});
  if (at.node().is_map() && at.node().find("@pipe") == nullptr) reader.keys(at, Level::hook, keys);
}

Kind read_hook(const Site& site) {
  Hook out;
  site.keys.push_back({"sleep", site.reader.into(out.sleep, Expect::seconds)});
  site.keys.push_back({"hook", [&](const Cursor& key) { out.payload = site.reader.schema(key); }});
  site.keys.push_back({"cycle", [&](const Cursor& key) { out.is_pivot = site.reader.boolean(key).value_or(false); }});
  site.keys.push_back({"escalation", [&](const Cursor& key) {
                         check_escalation(key, site.reader);
                         out.escalation = site.reader.formula(key, Expect::map);
                       }});
  site.read("hook", Level::hook);
  return out;
}

Kind read_signal(const Site& site) {
  OptionalFormula topic;
  Signal out{.to_all = false,
             .topic = site.reader.placeholder(site.at),
             .payload = {},
             .status = SignalStatus::success,
             .code = {},
             .key_name = {},
             .key_value = {},
             .scrub = {},
             .resolver = {}};
  const Reader& reader = site.reader;
  site.keys.push_back({"topic", reader.into(topic, Expect::text)});
  site.keys.push_back(
      {"signal", [&](const Cursor& key) { out.payload = read_channel(key, reader, ChannelKeys::schema_and_maps); }});
  site.keys.push_back({"status", [&](const Cursor& key) {
                         out.status = static_cast<SignalStatus>(reader.choice(key, status_words).value_or(0));
                       }});
  site.keys.push_back({"code", reader.into(out.code, Expect::number)});
  site.keys.push_back({"key_name", reader.into(out.key_name, Expect::text)});
  site.keys.push_back({"key_value", reader.into(out.key_value, Expect::any)});
  site.keys.push_back({"scrub", reader.into(out.scrub, Expect::boolean)});
  site.keys.push_back(
      {"resolver", [&](const Cursor& key) { out.resolver = read_channel(key, reader, ChannelKeys::schema_and_maps); }});
  site.read("signal", Level::signal);
  if (const Entry* subtype = site.at.node().find_entry("subtype"))
    out.to_all = reader.choice(Cursor(site.at, *subtype), signal_subtypes).value_or(0) == 1;
  site.require("topic", topic.has_value());
  out.topic = site.or_placeholder(topic);
  for (const std::string_view key : {"key_name", "key_value", "resolver", "scrub"})
    if (const Entry* entry = site.at.node().find_entry(key); entry != nullptr && !out.to_all)
      reader.warn(Cursor(site.at, *entry).key_where(), Code::no_effect,
                  format("'{}' has no effect without 'subtype: all'", key));
  return out;
}

Kind read_cycle(const Site& site) {
  Cycle out{.ancestor = {}, .where = site.at.where()};
  site.keys.push_back({"ancestor", [&](const Cursor& key) {
                         out.ancestor = site.reader.text(key).value_or("");
                         out.where = key.where();
                       }});
  site.read("cycle", Level::cycle);
  site.require("ancestor", !out.ancestor.empty());
  return out;
}

Kind read_interrupt(const Site& site) {
  Interrupt out;
  const Reader& reader = site.reader;
  site.keys.push_back({"target", reader.into(out.target, Expect::text)});
  site.keys.push_back({"topic", reader.into(out.topic, Expect::text)});
  site.keys.push_back({"reason", reader.into(out.reason, Expect::text)});
  site.keys.push_back({"code", reader.into(out.code, Expect::number)});
  site.keys.push_back({"throw", reader.into(out.throws, Expect::boolean)});
  site.keys.push_back({"descend", reader.into(out.descend, Expect::boolean)});
  site.keys.push_back({"stack", reader.into(out.stack, Expect::text)});
  site.keys.push_back({"expire", reader.into(out.expire, Expect::seconds)});
  site.read("interrupt", Level::interrupt);
  return out;
}

Kind read_join(const Site& site) {
  Join out;
  out.where = site.at.where();
  site.keys.push_back({"need", [&](const Cursor& key) {
                         out.where = key.where();
                         if (key.node().kind == Node::Kind::integer) {
                           out.need = Join::Need::count;
                           out.count = static_cast<std::size_t>(
                               site.reader.whole(key, 1, static_cast<std::int64_t>(activities_max)).value_or(1));
                           return;
                         }
                         constexpr std::string_view words[] = {"all", "any"};
                         if (key.node().is_text() && key.node().text == "any") out.need = Join::Need::any;
                         if (!key.node().is_text() || (key.node().text != "any" && key.node().text != "all"))
                           site.reader.report(key, Code::bad_value,
                                              format("this must be all, any or a number, not {}", describe(key.node())),
                                              nearest(key.node().text, words));
                       }});
  site.keys.push_back({"others", [&](const Cursor& key) {
                         out.cancels_others = site.reader.choice(key, others_words).value_or(0) == 1;
                       }});
  site.read("join", Level::join);
  return out;
}

void read_parallel(const Cursor& at, const Reader& reader, OptionalFormula& out) {
  out = reader.formula(at, Expect::number);
  if (!out || out->expression.literal() == nullptr) return;
  (void)reader.whole(at, 1, static_cast<std::int64_t>(parallel_max));
}

Kind read_map(const Site& site) {
  OptionalFormula items, parallel, collect;
  std::string join;
  Where where = site.at.where();
  site.keys.push_back({"items", [&](const Cursor& key) {
                         items = site.reader.formula(key, Expect::any);
                         const auto* literal = items ? items->expression.literal() : nullptr;
                         if (literal != nullptr && !literal->is_array() && !literal->is_object())
                           site.reader.report(
                               key, Code::wrong_type,
                               format("this must be a list, a map or an expression, not {}", describe(key.node())));
                       }});
  site.keys.push_back({"parallel", [&](const Cursor& key) { read_parallel(key, site.reader, parallel); }});
  site.keys.push_back({"collect", site.reader.into(collect, Expect::any)});
  site.keys.push_back({"join", [&](const Cursor& key) {
                         join = site.reader.text(key).value_or("");
                         where = key.where();
                       }});
  site.read("map", Level::map);
  site.require("items", items.has_value());
  site.require("join", !join.empty());
  return Map{site.or_placeholder(items), std::move(parallel), std::move(collect), std::move(join), std::move(where)};
}

// An unknown type: accept every known key, so that one typing error gives one mistake.
Kind read_any(const Site& site) {
  for (const KindKey& key : kind_only) site.keys.push_back({key.key, {}, true});
  site.reader.keys(site.at, Level::worker, site.keys);
  return Hook{};
}

}  // namespace

Kind read_kind(std::string_view type, const Cursor& at, const Reader& reader, std::vector<Key> common) {
  const Site site{at, reader, common};
  if (type == "trigger") return read_trigger(site);
  if (type == "worker") return read_worker(site);
  if (type == "await") return read_await(site);
  if (type == "hook") return read_hook(site);
  if (type == "signal") return read_signal(site);
  if (type == "cycle") return read_cycle(site);
  if (type == "interrupt") return read_interrupt(site);
  if (type == "join") return read_join(site);
  if (type == "map") return read_map(site);
  return read_any(site);
}

Stats read_stats(const Cursor& at, const Reader& reader) {
  Stats stats;
  const auto read_measure = [&](const Cursor& here) {
    Measurement measurement;
    const Key keys[] = {
        {"measure",
         [&](const Cursor& key) {
           measurement.measure = static_cast<Measure>(reader.choice(key, measure_words).value_or(0));
         }},
        {"target", reader.into(measurement.target, Expect::any)},
    };
    reader.keys(here, Level::measure, keys);
    if (!here.node().is_map()) return;
    if (here.node().find("measure") == nullptr) reader.missing(here, "measure");
    if (measurement.measure != Measure::count && here.node().find("target") == nullptr) reader.missing(here, "target");
    stats.measures.push_back(std::move(measurement));
  };
  const Key keys[] = {
      {"id", reader.into(stats.id, Expect::text)},
      {"key", reader.into(stats.key, Expect::text)},
      {"parent", reader.into(stats.parent, Expect::text)},
      {"adjacent", reader.into(stats.adjacent, Expect::text)},
      {"granularity",
       [&](const Cursor& key) {
         if (const auto found = reader.choice(key, granularities)) stats.granularity = granularities[*found];
       }},
      {"measures",
       [&](const Cursor& key) {
         if (!reader.expect_list(key)) return;
         for (std::size_t i = 0; i < key.node().items.size(); ++i) read_measure(Cursor(key, i));
       }},
  };
  reader.keys(at, Level::stats, keys);
  return stats;
}

}  // namespace pawl::graph
