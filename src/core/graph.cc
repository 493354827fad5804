// Checks and freezes a built graph. Every mistake is reported in one error, one line each.
#include "pawl/graph.h"

#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <string_view>

#include "base/format.h"
#include "base/limits.h"
#include "base/random.h"
#include "ledger/dimensions.h"

namespace pawl {

namespace {

using Index = std::map<std::string, std::uint32_t, std::less<>>;

class Mistakes {
 public:
  void add(std::string line) { text_.append(text_.empty() ? "" : "\n").append(line); }
  bool none() const { return text_.empty(); }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

std::uint64_t hash_text(std::uint64_t hash, std::string_view text) {
  for (const char c : text) hash = Random::mix(hash ^ static_cast<unsigned char>(c));
  return Random::mix(hash + text.size());
}

std::uint64_t hash_retry(std::uint64_t hash, const Retry& retry) {
  const auto add = [&](std::uint64_t value) { hash = Random::mix(hash ^ value); };
  const auto add_time = [&](Duration time) { add(static_cast<std::uint64_t>(time.count())); };
  const auto add_share = [&](double share) { add(static_cast<std::uint64_t>(share * 1e6)); };
  add(retry.attempts());
  add_time(retry.first_delay());
  add_share(retry.growth());
  add_time(retry.longest_delay());
  add_share(retry.jitter());
  add_time(retry.within());
  add(static_cast<std::uint64_t>(retry.when_exhausted()));
  for (const std::int32_t code : retry.never_on()) add(static_cast<std::uint32_t>(code));
  for (const Retry::ForCode& one : retry.for_codes()) {
    add(std::uint64_t{30} << 32);  // above every code: a rule is not a code of never_on
    add(static_cast<std::uint32_t>(one.code));
    hash = hash_retry(hash, one.rule);
  }
  return hash;
}

// Only what was asked for counts, so a graph without policies keeps the fingerprint it always had.
std::uint64_t hash_policy(std::uint64_t hash, const Policy& policy) {
  const auto add = [&](std::uint64_t value) { hash = Random::mix(hash ^ value); };
  const auto add_time = [&](Duration time) { add(static_cast<std::uint64_t>(time.count())); };
  if (policy.retries) {
    add(1);
    hash = hash_retry(hash, policy.retry);
  }
  const Timeouts& timeouts = policy.timeouts;
  std::uint64_t which = 2;
  for (const Duration time : {timeouts.attempt(), timeouts.heartbeat(), timeouts.queue(), timeouts.total()}) {
    if (time.count() != 0) add(which), add_time(time);
    ++which;
  }
  if (policy.guarantee != Guarantee::at_least_once) add(10 + static_cast<std::uint64_t>(policy.when_unknown));
  if (policy.priority != 0) add(20), add(static_cast<std::uint32_t>(policy.priority));
  return hash;
}

std::uint64_t fingerprint_of(const Graph& graph) {
  std::uint64_t hash = hash_text(1, graph.name().raw());
  for (const Graph::Node& node : graph.nodes()) {
    hash = hash_text(hash, node.name.raw());
    hash = hash_text(hash, node.topic.raw());
    hash = Random::mix(hash ^ static_cast<std::uint64_t>(node.kind));
    hash = hash_policy(hash, node.policy);
    for (const Graph::Edge& edge : node.edges) {
      hash = Random::mix(hash ^ edge.to ^ (static_cast<std::uint64_t>(edge.when.kind()) << 32));
      for (const std::int32_t code : edge.when.code_list()) hash = Random::mix(hash + static_cast<std::uint32_t>(code));
    }
  }
  hash = Random::mix(hash ^ graph.result_of().value_or(0xffffffff));
  // The default adds nothing: fingerprints of jobs that run already stay what they are.
  return graph.collation() == Collation::ledger ? hash : hash_text(hash, name_of(graph.collation()));
}

using Require = std::function<void(bool, const std::string&)>;

void check_time(const Require& require, std::string_view what, Duration time) {
  require(time.count() >= 0 && time <= limits::duration_max,
          format("{} must be between 0 and {} days", what, limits::duration_max / std::chrono::hours(24)));
}

void check_rule(const Require& require, const Retry& retry) {
  require(retry.attempts() >= 1 && retry.attempts() <= limits::attempts_max,
          format("attempts must be between 1 and {}", limits::attempts_max));
  require(retry.growth() >= 1 && retry.growth() <= 100, "growth must be between 1 and 100");
  require(retry.jitter() >= 0 && retry.jitter() <= 1, "jitter must be between 0 and 1");
  check_time(require, "first_delay", retry.first_delay());
  check_time(require, "longest_delay", retry.longest_delay());
  check_time(require, "within", retry.within());
}

void check_policy(const std::string& activity, const Policy& policy, Mistakes& mistakes) {
  const Require require = [&](bool holds, const std::string& what) {
    if (!holds) mistakes.add(format("activity {}: {}", activity, what));
  };
  check_rule(require, policy.retry);
  const auto& never_on = policy.retry.never_on();
  for (const Retry::ForCode& one : policy.retry.for_codes()) {
    const Require of_code = [&](bool holds, const std::string& what) {
      require(holds, format("the retry on {}: {}", one.code, what));
    };
    check_rule(of_code, one.rule);
    of_code(one.rule.never_on().empty() && one.rule.for_codes().empty(), "a rule for a code has no codes of its own");
    of_code(std::find(never_on.begin(), never_on.end(), one.code) == never_on.end(), "never_on names this code too");
  }
  for (const auto& [what, time] : {std::pair{"the attempt timeout", policy.timeouts.attempt()},
                                   {"the heartbeat timeout", policy.timeouts.heartbeat()},
                                   {"the queue timeout", policy.timeouts.queue()},
                                   {"the total timeout", policy.timeouts.total()}})
    check_time(require, what, time);
  require(policy.priority >= -limits::priority_max && policy.priority <= limits::priority_max,
          format("priority must be between -{0} and {0}", limits::priority_max));
}
bool is_default(const Policy& policy) { return hash_policy(0, policy) == 0; }

// Named one by one: a kind that is new is refused until somebody has shown that it works.
bool runs_under_duplex(Graph::Kind kind) { return kind == Graph::Kind::trigger || kind == Graph::Kind::worker; }

// Names the activities of a cycle: "a -> b -> a". Walks parents, since each node has at most one.
std::string cycle_through(std::uint32_t node, const std::vector<std::optional<std::uint32_t>>& parent,
                          const std::vector<Graph::Node>& nodes) {
  std::string text = nodes[node].name.raw();
  for (auto at = parent[node]; at && *at != node; at = parent[*at]) text = nodes[*at].name.raw() + " -> " + text;
  return nodes[node].name.raw() + " -> " + text;
}

}  // namespace

std::string_view name_of(Graph::Kind kind) {
  switch (kind) {
    case Graph::Kind::trigger:
      return "trigger";
    case Graph::Kind::worker:
      return "worker";
    case Graph::Kind::await:
      return "await";
    case Graph::Kind::hook:
      return "hook";
    case Graph::Kind::signal:
      return "signal";
    case Graph::Kind::cycle:
      return "cycle";
    case Graph::Kind::interrupt:
      return "interrupt";
    case Graph::Kind::join:
      return "join";
    case Graph::Kind::map:
      return "map";
  }
  return "?";
}

std::string_view name_of(Collation collation) {
  switch (collation) {
    case Collation::ledger:
      return "ledger";
    case Collation::duplex:
      return "duplex";
  }
  return "?";
}

std::optional<std::uint32_t> Graph::find(const ActivityName& name) const {
  for (std::uint32_t i = 0; i < nodes_.size(); ++i)
    if (nodes_[i].name == name) return i;
  return std::nullopt;
}

Graph Graph::assemble(Parts parts) {
  Graph graph(std::move(parts.name), parts.version);
  graph.fingerprint_ = parts.fingerprint;
  graph.nodes_ = std::move(parts.nodes);
  graph.trigger_ = parts.trigger;
  graph.drains_ = parts.drains;
  graph.collation_ = parts.collation;
  graph.program_ = std::move(parts.program);
  return graph;
}

GraphBuilder::GraphBuilder(std::string name, std::uint32_t version) : name_(std::move(name)), version_(version) {}

GraphBuilder& GraphBuilder::trigger(std::string name) {
  activities_.push_back({std::move(name), Graph::Kind::trigger, "", {}});
  return *this;
}

GraphBuilder& GraphBuilder::worker(std::string name, std::string topic) {
  activities_.push_back({std::move(name), Graph::Kind::worker, std::move(topic), {}});
  return *this;
}

Policy& GraphBuilder::last_policy() {
  if (!activities_.empty() && activities_.back().kind == Graph::Kind::worker) return activities_.back().policy;
  policy_misplaced_ = true;
  return nobodys_;
}

GraphBuilder& GraphBuilder::retry(Retry policy) {
  Policy& of = last_policy();
  of.retries = true;
  of.retry = std::move(policy);
  return *this;
}

GraphBuilder& GraphBuilder::timeouts(Timeouts limits) {
  last_policy().timeouts = limits;
  return *this;
}

GraphBuilder& GraphBuilder::at_most_once(WhenUnknown then) {
  Policy& of = last_policy();
  of.guarantee = Guarantee::at_most_once;
  of.when_unknown = then;
  return *this;
}

GraphBuilder& GraphBuilder::priority(std::int32_t value) {
  last_policy().priority = value;
  return *this;
}

GraphBuilder& GraphBuilder::after(std::string parent, Condition when) {
  links_.push_back({std::move(parent), activities_.empty() ? "" : activities_.back().name, std::move(when)});
  return *this;
}

GraphBuilder& GraphBuilder::transition(std::string from, std::string to, Condition when) {
  links_.push_back({std::move(from), std::move(to), std::move(when)});
  return *this;
}

GraphBuilder& GraphBuilder::result_of(std::string activity) {
  result_ = std::move(activity);
  return *this;
}

GraphBuilder& GraphBuilder::collation(Collation collation) {
  collation_ = collation;
  return *this;
}

Result<Graph> GraphBuilder::build() const {
  Mistakes mistakes;
  const auto require_name = [&](std::string_view what, std::string_view name) {
    const auto checked = check_name(what, name);
    if (!checked) mistakes.add(checked.error().detail);
  };
  require_name("graph name", name_);
  if (activities_.size() > limits::graph_activities_max)
    return Error{ErrorCode::over_limit, format("graph {} has {} activities; at most {} are allowed", name_,
                                               activities_.size(), limits::graph_activities_max)};
  Graph graph{GraphName(name_), version_};
  Index index;
  std::vector<std::uint32_t> triggers;
  for (const Declared& declared : activities_) {
    const auto number = static_cast<std::uint32_t>(graph.nodes_.size());
    require_name("activity name", declared.name);
    if (declared.kind == Graph::Kind::worker)
      require_name(format("topic of activity {}", declared.name), declared.topic);
    if (!index.emplace(declared.name, number).second)
      mistakes.add(format("activity {} is declared twice", declared.name));
    if (declared.kind == Graph::Kind::trigger) triggers.push_back(number);
    if (collation_ == Collation::duplex && !runs_under_duplex(declared.kind))
      mistakes.add(
          format("activity {}: collation duplex runs triggers and workers only, since it has no transaction "
                 "for what else this kind would have to write at once; use collation ledger",
                 declared.name));
    if (collation_ == Collation::duplex && !is_default(declared.policy))
      mistakes.add(
          format("activity {}: collation duplex has no retries, timeouts, at-most-once or priority, since its "
                 "operations are single adds; use collation ledger",
                 declared.name));
    check_policy(declared.name, declared.policy, mistakes);
    graph.nodes_.push_back(
        Graph::Node{ActivityName(declared.name), declared.kind, Topic(declared.topic), {}, declared.policy});
  }
  if (policy_misplaced_)
    mistakes.add("retry(), timeouts(), at_most_once() and priority() belong after the worker() they are meant for");
  if (triggers.size() != 1)
    mistakes.add(format("graph {} has {} triggers; it needs exactly one", name_, triggers.size()));

  std::vector<std::optional<std::uint32_t>> parent(graph.nodes_.size());
  for (const Link& link : links_) {
    const auto from = index.find(link.from);
    const auto to = index.find(link.to);
    if (from == index.end())
      mistakes.add(format("transition {} -> {}: no activity named {}", link.from, link.to, link.from));
    if (to == index.end())
      mistakes.add(format("transition {} -> {}: no activity named {}", link.from, link.to, link.to));
    if (from == index.end() || to == index.end()) continue;
    if (link.when.kind() == Condition::Kind::on_codes && link.when.code_list().empty())
      mistakes.add(format("transition {} -> {}: a condition without codes never fires", link.from, link.to));
    if (graph.nodes_[to->second].kind == Graph::Kind::trigger)
      mistakes.add(format("transition {} -> {}: a trigger has no parent", link.from, link.to));
    if (parent[to->second] && *parent[to->second] != from->second)
      mistakes.add(format("activity {} has two parents, {} and {}; only a join may have several", link.to,
                          graph.nodes_[*parent[to->second]].name.raw(), link.from));
    else if (parent[to->second])
      mistakes.add(format("transition {} -> {} is declared twice", link.from, link.to));
    else
      parent[to->second] = from->second;
    graph.nodes_[from->second].edges.push_back({to->second, link.when});
  }
  if (result_) {
    const auto found = index.find(*result_);
    if (found == index.end())
      mistakes.add(format("result_of: no activity named {}", *result_));
    else
      graph.result_ = found->second;
  }
  if (!mistakes.none()) return Error{ErrorCode::invalid, mistakes.text()};

  graph.trigger_ = triggers.front();
  // Each node has one parent, so whatever the trigger does not reach is an orphan or part of a cycle.
  std::vector<bool> reached(graph.nodes_.size(), false);
  std::vector<std::pair<std::uint32_t, std::size_t>> queue{{graph.trigger_, 1}};  // node and its depth
  while (!queue.empty()) {
    const auto [node, depth] = queue.back();
    queue.pop_back();
    if (depth > ledger::Dimensions::depth_max)
      return Error{ErrorCode::over_limit,
                   format("graph {} is more than {} activities deep", name_, ledger::Dimensions::depth_max)};
    reached[node] = true;
    for (const Graph::Edge& edge : graph.nodes_[node].edges) queue.emplace_back(edge.to, depth + 1);
  }
  std::set<std::uint32_t> reported;
  for (std::uint32_t node = 0; node < graph.nodes_.size(); ++node) {
    if (reached[node]) continue;
    std::set<std::uint32_t> seen;
    std::optional<std::uint32_t> at = node;
    while (at && seen.insert(*at).second) at = parent[*at];
    if (!at) {
      mistakes.add(format("activity {} is not reachable from the trigger", graph.nodes_[node].name.raw()));
    } else if (reported.insert(*at).second) {
      for (auto on = parent[*at]; on && *on != *at; on = parent[*on]) reported.insert(*on);
      mistakes.add(format("cycle without a pivot: {}", cycle_through(*at, parent, graph.nodes_)));
    }
  }
  if (!mistakes.none()) return Error{ErrorCode::invalid, mistakes.text()};
  graph.collation_ = collation_;
  graph.fingerprint_ = fingerprint_of(graph);
  return graph;
}

}  // namespace pawl
