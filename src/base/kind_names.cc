#include "pawl/graph.h"

namespace pawl {

std::string_view name_of(ActivityKind kind) {
  switch (kind) {
    case ActivityKind::trigger:
      return "trigger";
    case ActivityKind::worker:
      return "worker";
    case ActivityKind::await:
      return "await";
    case ActivityKind::hook:
      return "hook";
    case ActivityKind::signal:
      return "signal";
    case ActivityKind::cycle:
      return "cycle";
    case ActivityKind::interrupt:
      return "interrupt";
    case ActivityKind::join:
      return "join";
    case ActivityKind::map:
      return "map";
  }
  return "?";
}

std::string_view name_of(Collation collation) {
  switch (collation) {
    case Collation::ledger:
      return "ledger";
    case Collation::duplex:
      return "duplex";
  }
  return "?";
}

}  // namespace pawl
