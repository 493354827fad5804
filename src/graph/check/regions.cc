// Checks over more than one edge: bodies of maps, joins, cycles.
#include <algorithm>

#include "base/format.h"
#include "graph/check/structure.h"

namespace pawl::graph {
namespace {

void report(Mistakes& mistakes, const Where& where, Code code, std::string message, std::string suggestion = {},
            Severity severity = Severity::error) {
  mistakes.add({.code = code,
                .severity = severity,
                .mark = where.mark,
                .path = where.path,
                .message = std::move(message),
                .suggestion = std::move(suggestion)});
}

std::string nearest_id(const Graph& graph, std::string_view id) {
  std::vector<std::string_view> ids;
  for (const Activity& activity : graph.activities) ids.push_back(activity.id);
  return nearest(id, ids);
}

// All that can be reached from `map` before its closing join.
std::vector<bool> body_of(const Graph& graph, ActivityIndex map, ActivityIndex join) {
  std::vector<bool> body(graph.activities.size());
  std::vector<ActivityIndex> queue{map};
  while (!queue.empty()) {
    const ActivityIndex at = queue.back();
    queue.pop_back();
    for (const std::uint32_t edge : graph.topology.places[at].out) {
      const ActivityIndex to = graph.transitions[edge].to;
      if (to == join || body[to]) continue;
      body[to] = true;
      queue.push_back(to);
    }
  }
  return body;
}

std::optional<ActivityIndex> find_closing_join(const Graph& graph, ActivityIndex map, Mistakes& mistakes) {
  const Map& kind = std::get<Map>(graph.activities[map].kind);
  if (kind.join.empty()) return std::nullopt;  // the key is missing: reported when read
  const auto join = graph.find(kind.join);
  if (!join) {
    report(mistakes, kind.where, Code::unknown_activity, format("this graph has no activity '{}'", kind.join),
           nearest_id(graph, kind.join));
    return std::nullopt;
  }
  if (!std::holds_alternative<Join>(graph.activities[*join].kind)) {
    report(mistakes, kind.where, Code::bad_map,
           format("'{}' is a {}; a map ends at a join", kind.join, name_of(graph.activities[*join].kind)));
    return std::nullopt;
  }
  if (!graph.topology.places[*join].reachable) return std::nullopt;
  if (!graph.topology.is_ancestor(map, *join)) {
    report(mistakes, kind.where, Code::bad_map,
           format("no transition leads from '{}' to '{}'", graph.activities[map].id, kind.join));
    return std::nullopt;
  }
  if (graph.topology.places[*join].closes_map) {
    report(mistakes, kind.where, Code::bad_map, format("'{}' closes another map already", kind.join));
    return std::nullopt;
  }
  return join;
}

void check_map(Graph& graph, ActivityIndex map, Mistakes& mistakes) {
  const auto join = find_closing_join(graph, map, mistakes);
  if (!join) return;
  auto& places = graph.topology.places;
  const std::vector<bool> body = body_of(graph, map, *join);
  if (std::find(body.begin(), body.end(), true) == body.end()) {
    report(mistakes, graph.activities[map].where, Code::bad_map,
           format("nothing stands between '{}' and '{}'", graph.activities[map].id, graph.activities[*join].id));
    return;
  }
  for (ActivityIndex i = 0; i < body.size(); ++i) {
    if (!body[i] && i != *join) continue;
    for (const std::uint32_t edge : places[i].in) {
      const ActivityIndex from = graph.transitions[edge].from;
      if (body[from] || from == map) continue;
      report(mistakes, graph.transitions[edge].where, Code::crosses_map,
             format("'{}' is outside the body of the map '{}', '{}' is {}", graph.activities[from].id,
                    graph.activities[map].id, graph.activities[i].id, i == *join ? "its closing join" : "inside"));
    }
    if (body[i]) places[i].inside_map = map;
  }
  places[*join].closes_map = map;
  // The join is on the plane of the map, not on that of an item; what follows moves with it.
  const std::size_t cut = places[*join].chain.size();
  std::vector<ActivityIndex> chain = places[map].chain;
  chain.push_back(*join);
  for (const ActivityIndex index : graph.topology.order) {
    auto& mine = places[index].chain;
    if (mine.size() >= cut && mine[cut - 1] == *join) {
      mine.erase(mine.begin(), mine.begin() + static_cast<std::ptrdiff_t>(cut));
      mine.insert(mine.begin(), chain.begin(), chain.end());
    }
  }
}

}  // namespace

bool is_inside(const Graph& graph, ActivityIndex inside, ActivityIndex map) {
  auto at = graph.topology.places[inside].inside_map;
  while (at && *at != map) at = graph.topology.places[*at].inside_map;
  return at.has_value();
}

void check_maps(Graph& graph, Mistakes& mistakes) {
  // Outer maps come first in the order, so an inner one overwrites what it holds.
  for (const ActivityIndex index : graph.topology.order)
    if (std::holds_alternative<Map>(graph.activities[index].kind)) check_map(graph, index, mistakes);
}

void check_joins(const Graph& graph, Mistakes& mistakes) {
  // A map that did not find its join was reported; it may have meant any of these joins.
  std::size_t open_maps = 0;
  for (const ActivityIndex index : graph.topology.order) {
    if (std::holds_alternative<Map>(graph.activities[index].kind)) ++open_maps;
    if (graph.topology.places[index].closes_map) --open_maps;
  }
  for (const ActivityIndex index : graph.topology.order) {
    const auto* join = std::get_if<Join>(&graph.activities[index].kind);
    if (join == nullptr) continue;
    const Place& place = graph.topology.places[index];
    if (place.closes_map) {
      if (join->need != Join::Need::all)
        report(mistakes, join->where, Code::bad_join, "the closing join of a map waits for all items");
      if (join->cancels_others)
        report(mistakes, join->where, Code::bad_join, "the closing join of a map has no others to cancel");
      continue;
    }
    if (join->need == Join::Need::count && join->count > place.in.size())
      report(mistakes, join->where, Code::bad_join,
             format("'{}' wants {} arrivals, but {} {} to it", graph.activities[index].id, join->count, place.in.size(),
                    place.in.size() == 1 ? "transition leads" : "transitions lead"));
    if (place.in.size() == 1 && open_maps == 0)
      report(mistakes, graph.activities[index].where, Code::bad_join,
             format("only one transition leads to the join '{}'", graph.activities[index].id), {}, Severity::warning);
  }
}

void check_cycles(Graph& graph, Mistakes& mistakes) {
  for (const ActivityIndex index : graph.topology.order) {
    const auto* cycle = std::get_if<Cycle>(&graph.activities[index].kind);
    if (cycle == nullptr || cycle->ancestor.empty()) continue;
    const auto pivot = graph.find(cycle->ancestor);
    if (!pivot) {
      report(mistakes, cycle->where, Code::unknown_activity, format("this graph has no activity '{}'", cycle->ancestor),
             nearest_id(graph, cycle->ancestor));
      continue;
    }
    const auto& chain = graph.topology.places[index].chain;
    const bool on_chain = *pivot != index && std::find(chain.begin(), chain.end(), *pivot) != chain.end();
    if (!on_chain)
      report(mistakes, cycle->where, Code::cycle_not_ancestor,
             graph.topology.is_ancestor(*pivot, index)
                 ? format("not every path to '{}' passes '{}'; a join stands between them", graph.activities[index].id,
                          cycle->ancestor)
                 : format("'{}' is not an ancestor of '{}'", cycle->ancestor, graph.activities[index].id));
    auto* hook = std::get_if<Hook>(&graph.activities[*pivot].kind);
    if (hook == nullptr || !hook->passes_through()) {
      report(mistakes, cycle->where, Code::cycle_bad_pivot,
             hook == nullptr
                 ? format("'{}' is a {}; a cycle returns to a hook without sleep and signal", cycle->ancestor,
                          name_of(graph.activities[*pivot].kind))
                 : format("'{}' waits; a cycle returns to a hook without sleep and signal", cycle->ancestor));
      continue;
    }
    if (graph.topology.places[*pivot].inside_map != graph.topology.places[index].inside_map)
      report(mistakes, cycle->where, Code::crosses_map,
             format("'{}' and '{}' are not in the body of the same map", cycle->ancestor, graph.activities[index].id));
    hook->is_pivot = true;
  }
}

}  // namespace pawl::graph
