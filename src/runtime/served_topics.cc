#include "runtime/served_topics.h"

#include <algorithm>

#include "base/format.h"

namespace pawl::runtime {

namespace {

bool has(const Graph& graph, const std::string& topic) {
  return graph.collation() == Collation::duplex &&
         std::any_of(graph.nodes().begin(), graph.nodes().end(),
                     [&](const Graph::Node& node) { return node.topic.raw() == topic; });
}

Error not_duplex(const std::string& topic) {
  return {
      ErrorCode::unsupported,
      format(
          "topic {} is served by serve_transaction(), and a graph under collation duplex has it: there an answer is no "
          "transaction that SQL could join. Use collation ledger, or serve()",
          topic)};
}

}  // namespace

bool ServedTopics::is_for_transactions(const std::string& topic) const {
  const std::lock_guard lock(mutex_);
  const auto found = ways_.find(topic);
  return found != ways_.end() && found->second == Way::transaction;
}

bool ServedTopics::serves(const std::string& topic) const {
  const std::lock_guard lock(mutex_);
  return ways_.contains(topic);
}

Status ServedTopics::serve(const std::string& topic, Way way, const GraphCatalog& graphs) {
  if (way == Way::transaction && graphs.any_of([&](const Graph& graph) { return has(graph, topic); }))
    return not_duplex(topic);
  const std::lock_guard lock(mutex_);
  const auto [place, is_new] = ways_.try_emplace(topic, way);
  if (is_new || place->second == way) return {};
  return Error{ErrorCode::invalid,
               format("topic {} is served in another way already: a topic has serve() or serve_transaction()", topic)};
}

Status ServedTopics::admits(const Graph& graph) const {
  if (graph.collation() != Collation::duplex) return {};
  for (const Graph::Node& node : graph.nodes())
    if (is_for_transactions(node.topic.raw())) return not_duplex(node.topic.raw());
  return {};
}

}  // namespace pawl::runtime
