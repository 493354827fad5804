#include "runtime/wait_view.h"

#include "base/invariant.h"
#include "core/kind_state.h"

namespace pawl::runtime {

namespace {

// The hash of the rule comes first, then the values that people know.
std::string values_of(const std::string& mailbox_key) {
  const auto colon = mailbox_key.find(':');
  return colon == std::string::npos ? mailbox_key : mailbox_key.substr(colon + 1);
}

// What it waits for, beside its timeout.
void fill(WaitView& view, const core::KindState& state, const Graph::Node* node) {
  std::visit(Overloaded{
                 [&](const core::HookState& hook) {
                   view.wakes_at = hook.wakes_at;
                   if (!hook.mailbox) return;
                   view.topic = hook.mailbox->topic.raw();
                   view.key = values_of(hook.mailbox->key);
                 },
                 [&](const core::AwaitState& await) {
                   if (await.waits_to_try())
                     view.wakes_at = await.tries->again_at;
                   else
                     view.child = await.child;  // the one that failed is not waited for
                 },
                 [&](const core::JoinState& join) {
                   if (node == nullptr) return;
                   view.done = static_cast<std::uint32_t>(join.arrived.size());
                   view.of =
                       node->need != 0 ? node->need : node->edges_in - static_cast<std::uint32_t>(join.skipped.size());
                 },
                 [&](const core::MapState& map) {
                   view.done = map.done;
                   view.of = map.items;
                 },
                 each_of<std::monostate, core::WaitState, core::WorkState>([] {}),
             },
             state);
}

}  // namespace

std::optional<WaitView> wait_of(const core::JobState& state, const core::Activity& activity, const Graph* graph) {
  if (activity.status != core::ActivityStatus::open || core::is_closed(state.job.status)) return std::nullopt;
  WaitView view;
  const core::WorkItem* item = state.find_work(activity.seq);
  if (item != nullptr) view.topic = item->topic.raw();
  const auto kind = core::decode_kind_state(activity.state.view());
  if (activity.state.empty() || !kind) return item != nullptr ? std::optional(std::move(view)) : std::nullopt;
  if (const core::WaitState* wait = core::wait_of(*kind)) view.times_out_at = wait->times_out_at;
  const bool known = graph != nullptr && activity.node < graph->nodes().size();
  fill(view, *kind, known ? &graph->nodes()[activity.node] : nullptr);
  return view;
}

}  // namespace pawl::runtime
