// An app in C++: the language of docs/GRAPHS.md, call by call. One language in two forms: the builder writes the same
// document as a YAML file (yaml() prints it), one checker reads both, and a store keeps both in the same form.
//
//   const auto order = pawl::GraphBuilder("order")
//                          .trigger("received")
//                          .worker("charge", "payments.charge").after("received").compensate("refund")
//                          .worker("refund", "payments.refund")
//                          .hook("approved").after("charge").sleep(std::chrono::hours(24))
//                              .waits_for("order.approved", "{$job.metadata.jid}", "{$self.hook.data.order}")
//                          .worker("ship", "shipping.ship").after("approved")
//                          .worker("refuse", "orders.refuse").after("charge", pawl::Condition::code(402));
//   bool deploy(pawl::Runtime& runtime) { return runtime.deploy(order).ok(); }
//
// A call is about the activity that was named last; before the first activity, about the graph. A transition without a
// condition fires on success and on a pending reply, never on an error. Transitions of one activity that fire together
// open parallel branches.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "pawl/policy.h"
#include "pawl/result.h"
#include "pawl/value.h"

namespace pawl {

enum class ActivityKind : std::uint8_t { trigger, worker, await, hook, signal, cycle, interrupt, join, map };
std::string_view name_of(ActivityKind kind);

// How a job's progress is stored (docs/LEDGER.md). `duplex` needs no transactions in its store and promises less
// (docs/GUARANTEES.md): its marks are set once, but a leg may run more than once.
enum class Collation : std::uint8_t { ledger, duplex };
std::string_view name_of(Collation collation);

// What happens to the parallel branches when no transition catches an error.
enum class OnError : std::uint8_t { fail, drain };

// The input of an activity without input maps: nothing, or the output of the activity before it, byte for byte. With
// `answers` a job's result is the last output (or that of result_of), unless activities share data with job().
enum class InputFrom : std::uint8_t { maps, answers };

// When a transition fires. Conditions without a code require success.
class Condition {
 public:
  static Condition always() { return {}; }
  static Condition code(std::int32_t value) { return codes({value}); }
  static Condition codes(std::vector<std::int32_t> values);
  static Condition error();                              // any error code
  static Condition match(Value actual, Value expected);  // both are expressions
  Condition& and_match(Value actual, Value expected);
  Condition& or_match(Value actual, Value expected);
  Condition& with_code(std::int32_t value);
  Condition& with_error();
  // Any key of `conditions`.
  Condition& set(const std::string& key, Value value);

  const Fields& fields() const { return fields_; }  // empty: always

 private:
  Fields fields_;
};

// A trigger's labels and measures of its job, by which jobs are found and counted (docs/GRAPHS.md).
class Stats {
 public:
  Stats& id(Value text) { return set("id", std::move(text)); }
  Stats& key(Value text) { return set("key", std::move(text)); }
  Stats& parent(Value text) { return set("parent", std::move(text)); }
  Stats& adjacent(Value text) { return set("adjacent", std::move(text)); }
  Stats& granularity(std::string slice) { return set("granularity", std::move(slice)); }
  Stats& count() { return measure("count"); }
  // count, sum, avg, min, max, mdn or index; all except a plain count need a target.
  Stats& measure(std::string what, Value target = {});
  Stats& set(const std::string& key, Value value);

  const Fields& fields() const { return fields_; }

 private:
  Fields fields_;
};

// One graph. Alone it is an app whose id is the graph's name; AppBuilder combines several.
class GraphBuilder {
 public:
  explicit GraphBuilder(std::string name, std::uint32_t version = 1);

  // --- activities
  GraphBuilder& trigger(std::string name) { return add(std::move(name), ActivityKind::trigger); }
  GraphBuilder& worker(std::string name, Value topic);
  GraphBuilder& await(std::string name, Value topic);
  GraphBuilder& hook(std::string name) { return add(std::move(name), ActivityKind::hook); }
  GraphBuilder& signal(std::string name, Value topic);
  GraphBuilder& cycle(std::string name, std::string ancestor);
  GraphBuilder& interrupt(std::string name) { return add(std::move(name), ActivityKind::interrupt); }
  GraphBuilder& join(std::string name) { return add(std::move(name), ActivityKind::join); }
  GraphBuilder& map(std::string name, Value items, std::string join);

  // --- transitions: from `parent` to the activity named last
  GraphBuilder& after(std::string parent, Condition when = Condition::always());
  GraphBuilder& transition(std::string from, std::string to, Condition when = Condition::always());

  // --- the graph
  GraphBuilder& publishes(std::string topic) { return set_graph("publishes", std::move(topic)); }
  GraphBuilder& persistent(Value truth = true) { return set_graph("persistent", std::move(truth)); }
  GraphBuilder& on_error(OnError then);
  GraphBuilder& collation(Collation collation);
  GraphBuilder& input_from(InputFrom source);
  GraphBuilder& result_of(std::string activity) { return set_graph("result_of", std::move(activity)); }

  // --- the graph before the first activity, then the activity named last
  GraphBuilder& title(std::string text) { return set("title", std::move(text)); }
  GraphBuilder& input_schema(Value schema) { return set_in("input", "schema", std::move(schema)); }
  GraphBuilder& output_schema(Value schema) { return set_in("output", "schema", std::move(schema)); }
  GraphBuilder& output_schema(std::int32_t code, Value schema);                // for a reply with this code
  GraphBuilder& expire(Value time) { return set("expire", std::move(time)); }  // how long an ended job is kept

  // --- every activity
  GraphBuilder& input(Value maps) { return set_in("input", "maps", std::move(maps)); }
  GraphBuilder& output(Value maps) { return set_in("output", "maps", std::move(maps)); }
  GraphBuilder& output(std::int32_t code, Value maps);
  GraphBuilder& job(Value maps) { return set_in("job", "maps", std::move(maps)); }  // merged into the job's data
  GraphBuilder& job(std::int32_t code, Value maps);
  GraphBuilder& job_schema(Value schema) { return set_in("job", "schema", std::move(schema)); }
  GraphBuilder& telemetry(Value fields) { return set("telemetry", std::move(fields)); }
  GraphBuilder& emit(Value truth = true) { return set("emit", std::move(truth)); }
  GraphBuilder& persist(Value truth = true) { return set("persist", std::move(truth)); }
  GraphBuilder& status_threshold(Value count) { return set("statusThreshold", std::move(count)); }
  GraphBuilder& timeout(Value time) { return set("timeout", std::move(time)); }
  GraphBuilder& settings(Value value) { return set("settings", std::move(value)); }
  // The activity that undoes this one when the job fails later; no transition leads to it.
  GraphBuilder& compensate(std::string activity) { return set("compensate", std::move(activity)); }

  // --- a trigger
  GraphBuilder& stats(const Stats& stats) { return set("stats", stats.fields()); }
  GraphBuilder& entity(Value text) { return set("entity", std::move(text)); }

  // --- a worker (policy.h); retry() is also for an await
  GraphBuilder& retry(const Retry& policy);
  GraphBuilder& timeouts(const Timeouts& limits);
  GraphBuilder& at_most_once(WhenUnknown then = WhenUnknown::hold);
  GraphBuilder& priority(std::int32_t value) {
    return set("priority", value);
  }  // added to the job's; larger goes first

  // --- an await
  GraphBuilder& awaits(Value truth) { return set("await", std::move(truth)); }  // false: start it and continue

  // --- a hook: waits for a time, a signal, or whichever comes first
  GraphBuilder& sleep(Value time) { return set("sleep", std::move(time)); }
  // Each call with the same topic adds a pair that must be equal.
  GraphBuilder& waits_for(std::string topic, Value expected, Value actual);
  GraphBuilder& signal_schema(Value schema) { return set("hook", std::move(schema)); }
  GraphBuilder& pivot() { return set("cycle", true); }  // cycles may return to it
  GraphBuilder& escalation(Value fields) { return set("escalation", std::move(fields)); }

  // --- a signal
  GraphBuilder& to_all() { return set("subtype", "all"); }
  GraphBuilder& payload(Value maps) { return set_in("signal", "maps", std::move(maps)); }
  GraphBuilder& payload_schema(Value schema) { return set_in("signal", "schema", std::move(schema)); }
  GraphBuilder& status(std::string word) { return set("status", std::move(word)); }  // success, pending or error
  GraphBuilder& code(Value number) { return set("code", std::move(number)); }        // also of an interrupt
  GraphBuilder& key_name(Value text) { return set("key_name", std::move(text)); }
  GraphBuilder& key_value(Value value) { return set("key_value", std::move(value)); }
  GraphBuilder& resolver(Value maps) { return set_in("resolver", "maps", std::move(maps)); }
  GraphBuilder& resolver_schema(Value schema) { return set_in("resolver", "schema", std::move(schema)); }
  GraphBuilder& scrub(Value truth = true) { return set("scrub", std::move(truth)); }

  // --- an interrupt
  GraphBuilder& target(Value job_id) { return set("target", std::move(job_id)); }
  GraphBuilder& topic(Value text) { return set("topic", std::move(text)); }
  GraphBuilder& reason(Value text) { return set("reason", std::move(text)); }
  GraphBuilder& throws(Value truth) { return set("throw", std::move(truth)); }
  GraphBuilder& descend(Value truth = true) { return set("descend", std::move(truth)); }
  GraphBuilder& stack(Value text) { return set("stack", std::move(text)); }

  // --- a join
  GraphBuilder& need(std::int64_t arrivals) { return set("need", arrivals); }
  GraphBuilder& need_any() { return set("need", "any"); }
  // When it has what it needs, running activities of the other branches end: a race.
  GraphBuilder& cancel_others() { return set("others", "cancel"); }

  // --- a map
  GraphBuilder& parallel(Value count) { return set("parallel", std::move(count)); }
  GraphBuilder& collect(Value value) { return set("collect", std::move(value)); }

  // Any key of the activity named last, or of the graph before the first.
  GraphBuilder& set(const std::string& key, Value value);

  // The app as a YAML document, with or without mistakes.
  std::string yaml() const;
  // Checks it. The error has a line for each mistake.
  Result<struct AppText> build() const;

 private:
  friend class AppBuilder;
  struct Said {
    std::string name;
    ActivityKind kind;
    Fields keys;
  };
  struct Link {
    std::string from;
    std::string to;
    Condition when;
  };
  struct Rule {  // of `hooks`
    std::string topic;
    std::string to;
    Values matches;
  };
  GraphBuilder& add(std::string name, ActivityKind kind);
  GraphBuilder& set_graph(const std::string& key, Value value);
  GraphBuilder& set_in(const std::string& channel, const std::string& key, Value value);
  GraphBuilder& set_coded(const std::string& channel, std::int32_t code, const std::string& key, Value value);
  Fields& last() { return activities_.empty() ? graph_ : activities_.back().keys; }
  Value document() const;

  std::string name_;
  std::uint32_t version_;
  Fields graph_;
  std::vector<Said> activities_;
  std::vector<Link> links_;
  std::vector<Rule> rules_;
};

// Several graphs that are deployed together.
class AppBuilder {
 public:
  AppBuilder(std::string id, std::string version);
  AppBuilder& add(const GraphBuilder& graph);  // its version is not used
  AppBuilder& title(std::string text) { return set("title", std::move(text)); }
  AppBuilder& settings(Value value) { return set("settings", std::move(value)); }
  AppBuilder& set(const std::string& key, Value value);

  std::string yaml() const;
  Result<struct AppText> build() const;

 private:
  Value document() const;
  Fields keys_;
  Values graphs_;
};

// The source of an app.
struct AppFile {
  std::string path;  // its $refs must stay inside its folder
};
struct AppText {
  std::string text;  // YAML or JSON
};
class AppSource {
 public:
  AppSource(AppFile file) : path_(std::move(file.path)), is_file_(true) {}
  AppSource(AppText app) : text_(std::move(app.text)) {}
  AppSource(const GraphBuilder& graph) : text_(graph.yaml()), is_built_(true) {}
  AppSource(const AppBuilder& app) : text_(app.yaml()), is_built_(true) {}

  bool is_file() const { return is_file_; }
  bool is_built() const { return is_built_; }  // it has no visible lines: mistakes name keys instead
  const std::string& path() const { return path_; }
  const std::string& text() const { return text_; }

 private:
  std::string path_;
  std::string text_;
  bool is_file_ = false;
  bool is_built_ = false;
};

struct DeployOptions {
  bool activate = true;  // new jobs start on it
  // Different content under a version that is already deployed is refused. With this option it is kept beside the old
  // one, under a separate version such as 1+dev.1f2e3d4c, and new jobs start on it. Running jobs stay on the content
  // they started on.
  bool development = false;
  bool compat_hotmesh = false;  // as if the file said `compat: hotmesh` (docs/COMPAT.md)
};

}  // namespace pawl
