// A race: a join that cancels the other branches. When it has what it needs, the same commit ends everything that still
// runs between it and the nearest activity that all its branches come from: work is dropped, timers and registrations
// are cancelled, awaited children are asked to end, and the obligations are given back. Messages that are on their way
// at that moment find the join concluded and have no effect.
#include <algorithm>

#include "core/kinds/kinds.h"

namespace pawl::core::kinds {

namespace {

using Mark = ledger::ActivityLedger::Mark;

// Skips of several activities under one message need different names.
constexpr std::uint64_t numbers_per_activity = std::uint64_t{1} << 20U;

std::int64_t obligations_of(const Context& context, const Activity& activity) {
  if (context.node(activity).kind != Graph::Kind::join) return 1;
  const auto state = decode_state<JoinState>(activity.state.view());
  return state && state->owes ? 1 : 0;
}

bool is_among(const std::vector<std::uint32_t>& nodes, std::uint32_t node) {
  return std::find(nodes.begin(), nodes.end(), node) != nodes.end();
}

}  // namespace

std::int64_t abandon(Context& context, const Activity& activity) {
  Draft& draft = context.draft;
  const std::int64_t had = obligations_of(context, activity);
  call_off(context, activity, true);
  if (const WorkItem* item = draft.find_work(activity.seq)) draft.drop_work(WorkItem(*item));
  Activity ended = activity;
  ended.status = ActivityStatus::skipped;
  ended.code = code_called_off;
  ended.closed_at = context.options.now;
  ended.state = what_stays(activity.state);
  draft.put(std::move(ended));
  return had;
}

std::int64_t end_branches(Context& context, const Activity& join) {
  const Graph::Node& node = context.node(join);
  if (node.calls_off.empty()) return 0;
  const std::size_t fork = node.depth - 1;
  const ledger::Dimensions plane = join.at.prefix(fork);
  std::int64_t given_back = 0;
  const std::uint32_t count = context.draft.next_activity().raw();
  for (std::uint32_t seq = 0; seq < count; ++seq) {
    const Activity* found = context.draft.find(ActivitySeq(seq));
    const bool runs =
        found != nullptr && found->status == ActivityStatus::open && is_among(node.calls_off, found->node);
    if (!runs || found->at.prefix(fork) != plane) continue;
    const Activity activity = *found;
    given_back += abandon(context, activity);
    // Another join may wait for this branch too.
    skip_edges(context, activity, 0, {}, (std::uint64_t{seq} + 1) * numbers_per_activity);
  }
  return given_back;
}

bool is_called_off(const Context& context, std::uint32_t node, const ledger::Dimensions& at) {
  for (const std::uint32_t join : context.node(node).called_off_by) {
    const Activity* ended = context.draft.find(join, place_of_join(context.node(join), at));
    if (ended != nullptr && ended->ledger.has(Mark::work_done)) return true;
  }
  return false;
}

}  // namespace pawl::core::kinds
