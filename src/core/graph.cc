#include "core/graph.h"

#include <algorithm>

namespace pawl::core {

std::optional<std::uint32_t> Graph::find(const ActivityName& name) const {
  for (std::uint32_t i = 0; i < parts_.nodes.size(); ++i)
    if (parts_.nodes[i].name == name) return i;
  return std::nullopt;
}

Graph Graph::assemble(Parts parts) {
  Graph graph(std::move(parts));
  auto& nodes = graph.parts_.nodes;
  for (std::uint32_t i = 0; i < nodes.size(); ++i) {
    for (const std::uint32_t other : nodes[i].calls_off) nodes[other].called_off_by.push_back(i);
    if (!nodes[i].undo) continue;
    nodes[*nodes[i].undo].is_undo = true;
    graph.can_undo_ = true;
  }
  return graph;
}

}  // namespace pawl::core
