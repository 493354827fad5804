#include "runtime/collate.h"

#include <algorithm>
#include <string>
#include <vector>

namespace pawl::runtime {

namespace {

using State = ledger::CollationKey::State;

// The state of an activity's newest instance.
State state_of(const core::Activity& activity, core::JobStatus job) {
  switch (activity.status) {
    case core::ActivityStatus::completed:
      return State::completed;
    case core::ActivityStatus::errored:
      return State::errored;
    case core::ActivityStatus::skipped:
      return State::skipped;
    case core::ActivityStatus::open:
      break;
  }
  // In a job that has ended nothing runs: what was open counts as skipped.
  if (core::is_closed(job)) return State::skipped;
  return job == core::JobStatus::running ? State::started : State::paused;
}

// Parents before children; several edges may lead to one node, a join.
std::vector<std::uint32_t> parents_first(const Graph& graph) {
  std::vector<std::uint32_t> open_edges(graph.nodes().size(), 0);
  for (const Graph::Node& node : graph.nodes())
    for (const Graph::Edge& edge : node.edges) ++open_edges[edge.to];
  std::vector<std::uint32_t> order{graph.trigger()};
  for (std::size_t i = 0; i < order.size(); ++i)
    for (const Graph::Edge& edge : graph.nodes()[order[i]].edges)
      if (--open_edges[edge.to] == 0) order.push_back(edge.to);
  return order;
}

// The newest instance of every node; null: none.
std::vector<const core::Activity*> newest_of(const core::JobState& state, const Graph& graph) {
  std::vector<const core::Activity*> newest(graph.nodes().size(), nullptr);
  for (const core::Activity& activity : state.activities())
    if (activity.node < newest.size()) newest[activity.node] = &activity;
  return newest;
}

Result<ledger::CollationKey> own_key(const core::JobState& state, const Graph& graph,
                                     const std::vector<const core::Activity*>& newest) {
  const bool closed = core::is_closed(state.job.status);
  std::vector<bool> may_come(graph.nodes().size(), false);  // some parent has not ended
  may_come[graph.trigger()] = !closed;
  ledger::CollationKey::States states;
  for (const std::uint32_t node : parents_first(graph)) {
    const core::Activity* activity = newest[node];
    const State without = may_come[node] ? State::pending : State::skipped;
    states.emplace(graph.nodes()[node].name.raw(),
                   activity == nullptr ? without : state_of(*activity, state.job.status));
    const bool under_way =
        !closed && (activity == nullptr ? may_come[node] : activity->status == core::ActivityStatus::open);
    if (!under_way) continue;
    for (const Graph::Edge& edge : graph.nodes()[node].edges) may_come[edge.to] = true;
  }
  return ledger::CollationKey::from(states);
}

}  // namespace

Result<ledger::CollationKey> collation_key_of(const core::JobState& state, const Graph& graph, const Awaited& awaited) {
  const auto newest = newest_of(state, graph);
  auto key = own_key(state, graph, newest);
  if (!key || !awaited) return key;
  std::vector<std::string> names;
  for (const Graph::Node& node : graph.nodes()) names.push_back(node.name.raw());
  std::sort(names.begin(), names.end());
  for (std::size_t node = 0; node < newest.size(); ++node) {
    if (newest[node] == nullptr || graph.nodes()[node].kind != Graph::Kind::await) continue;
    const auto inner = awaited(*newest[node]);
    if (!inner) continue;
    const auto position = std::lower_bound(names.begin(), names.end(), graph.nodes()[node].name.raw()) - names.begin();
    key = key->with_awaited(static_cast<std::size_t>(position), *inner);
    if (!key) return key;
  }
  return key;
}

}  // namespace pawl::runtime
