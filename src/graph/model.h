// An app after reading: every expression and schema compiled, every key in its place. The structure checks fill
// `Topology`. The app is immutable once a check returns it, and shared by all jobs that run it.
#pragma once

#include <boost/json/value.hpp>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "graph/schema/schema.h"
#include "graph/source.h"
#include "mapping/expression.h"
#include "pawl/graph.h"
#include "pawl/policy.h"

namespace pawl::graph {

struct Where {
  Mark mark;
  std::string path;
};

// A literal, a reference or a pipe, and its position in the file.
struct Formula {
  mapping::Expression expression;
  Where where;
  std::vector<Where> references;  // one per expression.references()
};
using OptionalFormula = std::optional<Formula>;
using SchemaPointer = std::shared_ptr<const Schema>;

// What `input`, `output`, `job`, `signal` and `resolver` have in common. The maps of a code replace the general ones
// when an answer has that code.
struct Channel {
  SchemaPointer schema;
  OptionalFormula maps;
  std::vector<std::pair<int, SchemaPointer>> schema_by_code;
  std::vector<std::pair<int, Formula>> maps_by_code;
};

enum class Measure : std::uint8_t { count, sum, avg, min, max, mdn, index };
struct Measurement {
  Measure measure = Measure::count;
  OptionalFormula target;
};
struct Stats {
  OptionalFormula id, key, parent, adjacent;
  std::string granularity = "5m";
  std::vector<Measurement> measures;
};

// Seconds. An absent field is the engine's default.
struct RetryRule {
  std::optional<int> code;  // absent: every error
  int attempts_max = 1;     // attempts in total, the first included
  std::optional<double> initial_interval, backoff_coefficient, maximum_interval, jitter, within;
  std::vector<int> never_on{};  // of the rule without a code
  std::optional<WhenExhausted> when_exhausted{};
};

struct Trigger {
  Stats stats;
  OptionalFormula entity;
};
struct Worker {
  Formula topic;
  Timeouts timeouts{};
  Guarantee guarantee = Guarantee::at_least_once;
  WhenUnknown when_unknown = WhenUnknown::hold;
  std::int32_t priority = 0;
};
struct Await {
  Formula topic;
  OptionalFormula await;  // a literal false: fire and forget
};
struct HookMatch {
  Formula expected;           // evaluated in the waiting job
  Formula actual;             // evaluated over the signal's payload
  std::string actual_source;  // as JSON text: hooks with the same sources have the same key
};
struct Hook {
  OptionalFormula sleep;
  SchemaPointer payload;
  OptionalFormula escalation;
  bool is_pivot = false;             // `cycle: true`, or a cycle returns here
  std::optional<std::string> topic;  // from the graph's `hooks`
  std::vector<HookMatch> matches;    // all must be equal; never empty when there is a topic
  bool passes_through() const { return !sleep && !topic; }
};
enum class SignalStatus : std::uint8_t { success, pending, error };
struct Signal {
  bool to_all = false;
  Formula topic;
  Channel payload;
  SignalStatus status = SignalStatus::success;
  OptionalFormula code, key_name, key_value, scrub;
  Channel resolver;
};
struct Cycle {
  std::string ancestor;
  Where where;  // of `ancestor`
};
struct Interrupt {
  OptionalFormula target, topic, reason, code, throws, descend, stack, expire;
};
struct Join {
  enum class Need : std::uint8_t { all, any, count };
  Need need = Need::all;
  std::size_t count = 0;  // arrivals wanted when need is `count`
  bool cancels_others = false;
  Where where;
};
struct Map {
  Formula items;
  OptionalFormula parallel;  // items in progress at the same time; absent: 1, that is in order
  OptionalFormula collect;   // evaluated at the end of each item; the results go to the join, by index
  std::string join;
  Where where;  // of `join`
};
using Kind = std::variant<Trigger, Worker, Await, Hook, Signal, Cycle, Interrupt, Join, Map>;

// "trigger", "worker", ...
std::string_view name_of(const Kind& kind);

struct Activity {
  std::string id;
  std::string title;
  Kind kind;
  Channel input, output, job;
  OptionalFormula telemetry, emit, persist, status_threshold, timeout;
  std::vector<RetryRule> retry;
  std::string compensate;  // the activity that undoes it; empty: none
  Where compensate_where;
  boost::json::value settings;
  Where where;
};

using ActivityIndex = std::uint32_t;

struct Match {
  Formula actual;
  // Under compat: hotmesh always the bare value, also when it looks like a reference.
  std::variant<boost::json::value, Formula> expected;
};
struct Transition {
  // What an answer must be for the edge to fire, before `matches` are evaluated.
  enum class On : std::uint8_t {
    not_error,  // no conditions: success and pending, never an error
    anything,   // no conditions under compat: hotmesh
    codes,      // one of `codes`, or any error when `any_error`
  };
  ActivityIndex from = 0;
  ActivityIndex to = 0;
  On on = On::not_error;
  std::vector<int> codes;
  bool any_error = false;
  bool gate_or = false;
  std::vector<Match> matches;
  Where where;
};

// Indices of transitions, unless noted otherwise.
struct Place {
  std::vector<std::uint32_t> in, out;
  std::vector<ActivityIndex> chain;         // from the trigger to here along the address, itself included
  std::optional<ActivityIndex> inside_map;  // the innermost map whose body contains it
  std::optional<ActivityIndex> closes_map;  // joins only
  std::optional<ActivityIndex> undoes;      // the activity that names it in `compensate`
  std::uint32_t depth = 1;                  // how many parts its address has
  bool reachable = false;
};

class Topology {
 public:
  ActivityIndex trigger = 0;
  std::vector<ActivityIndex> order;  // parents before children; reachable activities only
  std::vector<Place> places;         // by activity

  bool is_ancestor(ActivityIndex maybe, ActivityIndex of) const { return ancestors.at(of).at(maybe); }
  std::vector<std::vector<bool>> ancestors;  // [of][maybe]
};

enum class OnError : std::uint8_t { fail, drain };
// How a job's progress is stored (docs/LEDGER.md).
enum class Collation : std::uint8_t { ledger, duplex };

struct Graph {
  std::string subscribes;
  std::string publishes;
  std::string title;
  OptionalFormula expire, persistent;
  OnError on_error = OnError::fail;
  Collation collation = Collation::ledger;
  InputFrom input_from = InputFrom::maps;
  std::string result_of;
  Where result_where;
  Channel input, output;
  std::vector<Activity> activities;
  std::vector<Transition> transitions;
  Topology topology;
  Where where;

  bool is_private() const { return subscribes.starts_with('.'); }
  // No step of a job evaluates an expression: triggers and workers that hand on their answers.
  bool is_plain() const;
  std::optional<ActivityIndex> find(std::string_view id) const;
};

enum class Dialect : std::uint8_t { pawl, hotmesh };

struct App {
  std::string id;
  std::string version;
  Dialect dialect = Dialect::pawl;
  // HotMesh does not check schemas when a job runs.
  bool enforces_schemas() const { return dialect == Dialect::pawl; }
  boost::json::value settings;
  std::vector<Graph> graphs;
};

}  // namespace pawl::graph
