#include "execute/assemble.h"

#include <algorithm>
#include <boost/json/value.hpp>
#include <charconv>
#include <limits>

#include "base/format.h"
#include "base/limits.h"
#include "execute/program.h"
#include "execute/stable_hash.h"
#include "execute/values.h"

namespace pawl::execute {
namespace {

using graph::ActivityIndex;

// The names of an app become names of the engine, whose rules are stricter: people type them.
class Names {
 public:
  Status check(const graph::App& app) {
    for (const graph::Graph& source : app.graphs) {
      where_ = format("graph \"{}\"", source.subscribes);
      need("its name", graph_name(app.id, source.subscribes), "change 'subscribes' or shorten the app's id");
      if (!source.publishes.empty()) need("the topic it publishes", source.publishes, "change 'publishes'");
      for (const graph::Activity& activity : source.activities) check(source, activity);
    }
    if (mistakes_.empty()) return {};
    return Error{ErrorCode::invalid, mistakes_};
  }

 private:
  void check(const graph::Graph& source, const graph::Activity& activity) {
    where_ = format("graph \"{}\", activity \"{}\"", source.subscribes, activity.id);
    need("its id", activity.id, "rename the activity");
    if (const auto* hook = std::get_if<graph::Hook>(&activity.kind); hook && hook->topic)
      need("the topic it waits for", *hook->topic, "rename the topic under 'hooks'");
    if (const auto* worker = std::get_if<graph::Worker>(&activity.kind))
      if (const json::value* topic = worker->topic.expression.literal(); topic && topic->is_string())
        need("its topic", view(topic->get_string()), "change 'topic'");
  }

  void need(std::string_view what, std::string_view name, std::string_view advice) {
    const Status fine = check_name(what, name);
    if (fine) return;
    if (!mistakes_.empty()) mistakes_ += '\n';
    mistakes_ += format("{}: {} \"{}\" cannot be used: {}; {}", where_, what, name, fine.error().detail, advice);
  }

  std::string where_;
  std::string mistakes_;
};

Graph::Kind kind_of(const graph::Kind& kind) {
  static_assert(std::variant_size_v<graph::Kind> == 9);
  return static_cast<Graph::Kind>(kind.index());
}

// A setting that a code's rule leaves out is taken from the rule without a code.
Retry rule_of(const graph::RetryRule& rule, Retry retry) {
  retry.attempts(static_cast<std::uint32_t>(rule.attempts_max));
  if (rule.when_exhausted) retry.when_exhausted(*rule.when_exhausted);
  if (rule.jitter) retry.jitter(*rule.jitter);
  if (rule.within) retry.within(duration_of_seconds(*rule.within));
  if (rule.initial_interval) retry.first_delay(duration_of_seconds(*rule.initial_interval));
  if (rule.backoff_coefficient) retry.growth(*rule.backoff_coefficient);
  if (rule.maximum_interval) retry.longest_delay(duration_of_seconds(*rule.maximum_interval));
  return retry;
}

Policy policy_of(const graph::Activity& activity) {
  Policy policy;
  if (const auto* worker = std::get_if<graph::Worker>(&activity.kind)) {
    policy.timeouts = worker->timeouts;
    policy.guarantee = worker->guarantee;
    policy.when_unknown = worker->when_unknown;
    policy.priority = worker->priority;
  }
  if (activity.retry.empty()) return policy;
  policy.retries = true;
  // If only codes have rules, other errors are not retried.
  const graph::RetryRule never;
  const auto general = std::find_if(activity.retry.begin(), activity.retry.end(),
                                    [](const graph::RetryRule& rule) { return !rule.code; });
  const Retry otherwise = rule_of(general == activity.retry.end() ? never : *general, Retry());
  policy.retry = otherwise;
  if (general != activity.retry.end()) policy.retry.never_on({general->never_on.begin(), general->never_on.end()});
  for (const graph::RetryRule& rule : activity.retry)
    if (rule.code) policy.retry.on(*rule.code, rule_of(rule, otherwise));
  return policy;
}

class Assembler {
 public:
  explicit Assembler(const graph::Graph& source) : source_(source), is_plain_(source.is_plain()) {}

  std::vector<Graph::Node> nodes() {
    std::vector<Graph::Node> nodes;
    nodes.reserve(source_.activities.size());
    for (ActivityIndex i = 0; i < source_.activities.size(); ++i) nodes.push_back(node(i));
    mark_pivots(nodes);
    mark_before_join(nodes);
    for (ActivityIndex i = 0; i < nodes.size(); ++i) {
      if (const auto undoes = source_.topology.places[i].undoes) nodes[*undoes].undo = i;
      const auto* join = std::get_if<graph::Join>(&source_.activities[i].kind);
      if (join != nullptr && join->cancels_others) nodes[i].calls_off = branches_of(i);
    }
    return nodes;
  }

 private:
  Graph::Node node(ActivityIndex index) const {
    const graph::Activity& activity = source_.activities[index];
    const graph::Place& place = source_.topology.places[index];
    Graph::Node node{.name = ActivityName(activity.id),
                     .kind = kind_of(activity.kind),
                     .topic = Topic(topic_of(activity)),
                     .edges = {},
                     .policy = policy_of(activity)};
    node.depth = place.chain.empty() ? place.depth : static_cast<std::uint32_t>(place.chain.size());
    for (const std::uint32_t edge : place.out) node.edges.push_back(make_edge(edge));
    if (const auto* join = std::get_if<graph::Join>(&activity.kind)) {
      node.edges_in = static_cast<std::uint32_t>(place.in.size());
      node.need = need_of(*join);
      if (place.closes_map) node.aim = *place.closes_map;
    }
    if (const auto* cycle = std::get_if<graph::Cycle>(&activity.kind)) node.aim = source_.find(cycle->ancestor);
    if (const auto* map = std::get_if<graph::Map>(&activity.kind)) node.aim = source_.find(map->join);
    if (const auto* hook = std::get_if<graph::Hook>(&activity.kind)) node.is_pivot = hook->is_pivot;
    return node;
  }

  // Under duplex, and in a plain graph, the engine evaluates the edge itself; otherwise the program decides what fires.
  core::Condition condition_of(const graph::Transition& transition) const {
    using core::Condition;
    const bool asks_program = source_.collation == graph::Collation::ledger && !is_plain_;
    if (asks_program || transition.on != graph::Transition::On::codes) return Condition::always();
    if (transition.any_error) return Condition::error();
    return Condition::codes({transition.codes.begin(), transition.codes.end()});
  }

  Graph::Edge make_edge(std::uint32_t index) const {
    const ActivityIndex to = source_.transitions[index].to;
    Graph::Edge edge{to, condition_of(source_.transitions[index])};
    const auto& in = source_.topology.places[to].in;
    if (std::holds_alternative<graph::Join>(source_.activities[to].kind))
      edge.number = static_cast<std::uint32_t>(std::find(in.begin(), in.end(), index) - in.begin());
    return edge;
  }

  // The nodes between the join and the nearest activity that all its branches come from: everything below those
  // children of that activity from which the join can be reached. The join itself is beside them.
  std::vector<std::uint32_t> branches_of(ActivityIndex join) const {
    const auto& chain = source_.topology.places[join].chain;
    const std::size_t fork = chain.size() - 1;  // the number of parts that both addresses share
    std::vector<std::uint32_t> found;
    for (ActivityIndex i = 0; i < source_.activities.size(); ++i) {
      if (source_.topology.places[i].undoes) continue;  // it runs only when the job fails, whichever branch won
      const auto& mine = source_.topology.places[i].chain;
      const bool below = mine.size() > fork && std::equal(chain.begin(), chain.end() - 1, mine.begin());
      if (below && mine[fork] != join && source_.topology.is_ancestor(mine[fork], join)) found.push_back(i);
    }
    return found;
  }

  static std::string topic_of(const graph::Activity& activity) {
    const auto* worker = std::get_if<graph::Worker>(&activity.kind);
    const json::value* literal = worker == nullptr ? nullptr : worker->topic.expression.literal();
    return literal != nullptr && literal->is_string() ? std::string(view(literal->get_string())) : std::string();
  }

  static std::uint32_t need_of(const graph::Join& join) {
    switch (join.need) {
      case graph::Join::Need::all:
        return 0;
      case graph::Join::Need::any:
        return 1;
      case graph::Join::Need::count:
        return static_cast<std::uint32_t>(join.count);
    }
    return 0;
  }

  // Under compat: hotmesh cycles return to activities of any kind.
  void mark_pivots(std::vector<Graph::Node>& nodes) const {
    for (const Graph::Node& node : nodes)
      if (node.kind == Graph::Kind::cycle && node.aim) nodes[*node.aim].is_pivot = true;
  }

  void mark_before_join(std::vector<Graph::Node>& nodes) const {
    const auto& order = source_.topology.order;  // parents first, so in reverse order children are known
    for (auto at = order.rbegin(); at != order.rend(); ++at)
      for (const Graph::Edge& edge : nodes[*at].edges)
        if (nodes[edge.to].kind == Graph::Kind::join || nodes[edge.to].before_join) nodes[*at].before_join = true;
  }

  const graph::Graph& source_;
  const bool is_plain_;
};

}  // namespace

std::uint32_t version_number(std::string_view version) {
  std::uint32_t number = 0;
  const char* end = version.data() + version.size();
  const auto [rest, failure] = std::from_chars(version.data(), end, number);
  const bool canonical = version.size() == 1 || !version.starts_with('0');
  if (!version.empty() && failure == std::errc{} && rest == end && canonical) return number;
  return static_cast<std::uint32_t>(stable_hash(version) & 0x7fffffffU);
}

std::string graph_name(std::string_view app, std::string_view topic) {
  return app == topic ? std::string(app) : format("{}/{}", app, topic);
}

Result<std::vector<Graph>> assemble(std::shared_ptr<const graph::App> app, std::string_view content) {
  if (const Status fine = Names().check(*app); !fine) return fine.error();
  const std::uint32_t version = version_number(app->version);
  const std::uint64_t content_hash = stable_hash(content);
  const std::shared_ptr<AppPlan> plan = make_plan(app);
  for (GraphPlan& one : plan->graphs) {
    const std::string name = graph_name(app->id, one.graph->subscribes);
    one.ref = {GraphName(name), version, stable_hash(name, content_hash)};
  }
  std::vector<Graph> graphs;
  for (std::uint32_t i = 0; i < plan->graphs.size(); ++i) {
    const GraphPlan& one = plan->graphs[i];
    graphs.push_back(Graph::assemble(
        {.name = one.ref.name,
         .version = one.ref.version,
         .fingerprint = one.ref.fingerprint,
         .nodes = Assembler(*one.graph).nodes(),
         .trigger = one.graph->topology.trigger,
         .result = one.graph->result_of.empty() ? std::nullopt : one.graph->find(one.graph->result_of),
         .drains = one.graph->on_error == graph::OnError::drain,
         .hands_on = one.graph->input_from == InputFrom::answers,
         .plain = one.graph->is_plain(),
         .collation = one.graph->collation == graph::Collation::duplex ? Collation::duplex : Collation::ledger,
         .program = std::make_shared<GraphProgram>(plan, i)}));
  }
  return graphs;
}

}  // namespace pawl::execute
