#include "runtime/waits.h"

#include "core/kind_state.h"

namespace pawl::runtime {

namespace {

// Behind the hash of the rule that made it stand the values that people know.
std::string values_of(const std::string& mailbox_key) {
  const auto colon = mailbox_key.find(':');
  return colon == std::string::npos ? mailbox_key : mailbox_key.substr(colon + 1);
}

void count(WaitView& view, const core::KindState& state, const Graph::Node& node) {
  if (node.kind == Graph::Kind::map) {
    view.done = state.done;
    view.of = state.items;
  } else if (node.kind == Graph::Kind::join) {
    view.done = static_cast<std::uint32_t>(state.arrived.size());
    view.of = node.need != 0 ? node.need : node.edges_in - static_cast<std::uint32_t>(state.skipped.size());
  }
}

}  // namespace

std::optional<WaitView> wait_of(const core::JobState& state, const core::Activity& activity, const Graph* graph) {
  if (activity.status != core::ActivityStatus::open || core::is_closed(state.job.status)) return std::nullopt;
  WaitView view;
  const core::WorkItem* item = state.find_work(activity.seq);
  if (item != nullptr) view.topic = item->topic.raw();
  const auto kind = core::decode_kind_state(activity.state.view());
  if (activity.state.empty() || !kind) return item != nullptr ? std::optional(std::move(view)) : std::nullopt;
  if (kind->mailbox) {
    view.topic = kind->mailbox->topic.raw();
    view.key = values_of(kind->mailbox->key);
  }
  view.wakes_at = kind->waits_to_try() ? kind->tries->again_at : kind->wakes_at;
  view.times_out_at = kind->times_out_at;
  if (!kind->waits_to_try()) view.child = kind->child;  // the one that failed is not waited for
  if (graph != nullptr && activity.node < graph->nodes().size()) count(view, *kind, graph->nodes()[activity.node]);
  return view;
}

}  // namespace pawl::runtime
