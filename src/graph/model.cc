#include "graph/model.h"

#include "base/invariant.h"

namespace pawl::graph {

std::string_view name_of(const Kind& kind) {
  return std::visit(Overloaded{
                        [](const Trigger&) -> std::string_view { return "trigger"; },
                        [](const Worker&) -> std::string_view { return "worker"; },
                        [](const Await&) -> std::string_view { return "await"; },
                        [](const Hook&) -> std::string_view { return "hook"; },
                        [](const Signal&) -> std::string_view { return "signal"; },
                        [](const Cycle&) -> std::string_view { return "cycle"; },
                        [](const Interrupt&) -> std::string_view { return "interrupt"; },
                        [](const Join&) -> std::string_view { return "join"; },
                        [](const Map&) -> std::string_view { return "map"; },
                    },
                    kind);
}

std::optional<ActivityIndex> Graph::find(std::string_view id) const {
  for (ActivityIndex i = 0; i < activities.size(); ++i)
    if (activities[i].id == id) return i;
  return std::nullopt;
}

}  // namespace pawl::graph
