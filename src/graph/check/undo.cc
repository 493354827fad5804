// Activities that undo others (`compensate`). No transition leads to them: they are placed below the one they undo.
#include "base/format.h"
#include "graph/check/structure.h"

namespace pawl::graph {
namespace {

// Empty: it may undo.
std::string why_not(const Graph& graph, ActivityIndex of, ActivityIndex undo) {
  const Activity& activity = graph.activities[undo];
  const Place& place = graph.topology.places[undo];
  if (undo == of) return "it cannot undo itself";
  if (!std::holds_alternative<Worker>(activity.kind))
    return format("'{}' is a {}; only a worker undoes", activity.id, name_of(activity.kind));
  if (!place.in.empty() || !place.out.empty())
    return format("'{}' has transitions; what undoes runs when the job fails, and only then", activity.id);
  if (place.undoes) return format("'{}' undoes '{}' already", activity.id, graph.activities[*place.undoes].id);
  if (!activity.compensate.empty()) return format("'{}' undoes: nothing undoes it in turn", activity.id);
  return {};
}

}  // namespace

void place_undos(Graph& graph, Mistakes& mistakes) {
  const auto report = [&](const Where& where, Code code, std::string message, std::string suggestion = {}) {
    mistakes.add({.code = code,
                  .mark = where.mark,
                  .path = where.path,
                  .message = std::move(message),
                  .suggestion = std::move(suggestion)});
  };
  const std::vector<ActivityIndex> reached = graph.topology.order;
  for (const ActivityIndex index : reached) {
    const Activity& activity = graph.activities[index];
    if (activity.compensate.empty()) continue;
    const auto undo = graph.find(activity.compensate);
    if (!undo) {
      std::vector<std::string_view> ids;
      for (const Activity& other : graph.activities) ids.push_back(other.id);
      report(activity.compensate_where, Code::unknown_activity,
             format("this graph has no activity '{}'", activity.compensate), nearest(activity.compensate, ids));
      continue;
    }
    if (std::string reason = why_not(graph, index, *undo); !reason.empty()) {
      report(activity.compensate_where, Code::bad_compensation, std::move(reason));
      continue;
    }
    Place& place = graph.topology.places[*undo];
    place.undoes = index;
    place.reachable = true;
    graph.topology.order.push_back(*undo);
  }
}

void settle_undos(Graph& graph) {
  for (Place& place : graph.topology.places)
    if (place.undoes) place.inside_map = graph.topology.places[*place.undoes].inside_map;
}

}  // namespace pawl::graph
