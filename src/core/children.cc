#include "core/children.h"

#include <algorithm>

namespace pawl::core {

bool fires(const Condition& when, ReplyStatus status, std::int32_t code) {
  switch (when.kind()) {
    case Condition::Kind::always:
      return !is_error(status);
    case Condition::Kind::on_error:
      return is_error(status);
    case Condition::Kind::on_codes:
      return std::find(when.code_list().begin(), when.code_list().end(), code) != when.code_list().end();
  }
  return false;
}

bool any_fires(const Graph::Node& node, ReplyStatus status, std::int32_t code) {
  return std::any_of(node.edges.begin(), node.edges.end(),
                     [&](const Graph::Edge& edge) { return fires(edge.when, status, code); });
}

std::vector<Child> children_of(const Graph& graph, std::uint32_t node, const ledger::Dimensions& at,
                               std::uint32_t plane, ReplyStatus status, std::int32_t code) {
  std::vector<Child> children;
  const ledger::Dimensions below = at.in_plane(plane).child();
  for (const Graph::Edge& edge : graph.nodes()[node].edges)
    if (fires(edge.when, status, code)) children.push_back(Child{edge.to, below});
  return children;
}

}  // namespace pawl::core
