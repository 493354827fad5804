#include "core/children.h"

#include <algorithm>

namespace pawl::core {

namespace {

bool fires(const Condition& when, ReplyStatus status, std::int32_t code) {
  switch (when.kind()) {
    case Condition::Kind::always: return status != ReplyStatus::error;
    case Condition::Kind::on_error: return status == ReplyStatus::error;
    case Condition::Kind::on_codes:
      return std::find(when.code_list().begin(), when.code_list().end(), code) != when.code_list().end();
  }
  return false;
}

}  // namespace

std::vector<Child> children_of(const Graph& graph, std::uint32_t node, const ledger::Dimensions& at,
                               std::uint32_t plane, ReplyStatus status, std::int32_t code) {
  std::vector<Child> children;
  const ledger::Dimensions below = at.in_plane(plane).child();
  for (const Graph::Edge& edge : graph.nodes()[node].edges)
    if (fires(edge.when, status, code)) children.push_back(Child{edge.to, below});
  return children;
}

}  // namespace pawl::core
