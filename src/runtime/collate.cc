#include "runtime/collate.h"

#include <utility>
#include <vector>

namespace pawl::runtime {

namespace {

using State = ledger::CollationKey::State;

// Of an activity's newest instance.
State state_of(const core::Activity& activity, core::JobStatus job) {
  switch (activity.status) {
    case core::ActivityStatus::completed: return State::completed;
    case core::ActivityStatus::errored: return State::errored;
    case core::ActivityStatus::skipped: return State::skipped;
    case core::ActivityStatus::open: break;
  }
  // In a job that has ended nothing is under way: what was open is passed over.
  if (core::is_closed(job)) return State::skipped;
  return job == core::JobStatus::running ? State::started : State::paused;
}

}  // namespace

Result<ledger::CollationKey> collation_key_of(const core::JobState& state, const Graph& graph) {
  std::vector<const core::Activity*> newest(graph.nodes().size(), nullptr);
  for (const core::Activity& activity : state.activities())
    if (activity.node < newest.size()) newest[activity.node] = &activity;
  // Each node has one parent, so each is visited once; a stack of our own, for a chain may have 10,000 of them.
  ledger::CollationKey::States states;
  std::vector<std::pair<std::uint32_t, bool>> stack{{graph.trigger(), core::is_closed(state.job.status)}};
  while (!stack.empty()) {
    const auto [node, parent_ended] = stack.back();
    stack.pop_back();
    const core::Activity* activity = newest[node];
    const State without = parent_ended ? State::skipped : State::pending;
    states.emplace(graph.nodes()[node].name.raw(), activity == nullptr ? without : state_of(*activity, state.job.status));
    const bool ended = activity == nullptr ? parent_ended : activity->status != core::ActivityStatus::open;
    for (const Graph::Edge& edge : graph.nodes()[node].edges)
      stack.emplace_back(edge.to, ended || core::is_closed(state.job.status));
  }
  return ledger::CollationKey::from(states);
}

}  // namespace pawl::runtime
