#include "core/edges.h"

#include <algorithm>

namespace pawl::core {

bool fires(const Condition& when, ReplyStatus status, std::int32_t code) {
  switch (when.kind()) {
    case Condition::Kind::always: return !is_error(status);
    case Condition::Kind::on_error: return is_error(status);
    case Condition::Kind::on_codes:
      return std::find(when.code_list().begin(), when.code_list().end(), code) != when.code_list().end();
  }
  return false;
}

bool any_fires(const Graph::Node& node, ReplyStatus status, std::int32_t code) {
  return std::any_of(node.edges.begin(), node.edges.end(),
                     [&](const Graph::Edge& edge) { return fires(edge.when, status, code); });
}

}  // namespace pawl::core
