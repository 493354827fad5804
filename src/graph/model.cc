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

bool Graph::is_plain() const {
  const auto is_empty = [](const Channel& channel) {
    return !channel.schema && !channel.maps && channel.schema_by_code.empty() && channel.maps_by_code.empty();
  };
  if (input_from != InputFrom::answers || !publishes.empty() || expire || persistent || !is_empty(output)) return false;
  for (const Activity& activity : activities) {
    if (!is_empty(activity.input) || !is_empty(activity.output) || !is_empty(activity.job)) return false;
    if (activity.telemetry || activity.emit || activity.persist || activity.status_threshold || activity.timeout)
      return false;
    if (const auto* trigger = std::get_if<Trigger>(&activity.kind)) {
      const Stats& stats = trigger->stats;
      if (stats.key || stats.parent || stats.adjacent || !stats.measures.empty() || trigger->entity) return false;
    } else if (const auto* worker = std::get_if<Worker>(&activity.kind)) {
      if (worker->topic.expression.literal() == nullptr) return false;
    } else {
      return false;
    }
  }
  for (const Transition& transition : transitions)
    if (!transition.matches.empty() || (transition.any_error && !transition.codes.empty())) return false;
  return true;
}

std::optional<ActivityIndex> Graph::find(std::string_view id) const {
  for (ActivityIndex i = 0; i < activities.size(); ++i)
    if (activities[i].id == id) return i;
  return std::nullopt;
}

}  // namespace pawl::graph
