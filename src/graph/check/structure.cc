#include "graph/check/structure.h"

#include <algorithm>
#include <unordered_set>

#include "base/format.h"

namespace pawl::graph {
namespace {

class Structure {
 public:
  Structure(Graph& graph, Mistakes& mistakes)
      : graph_(graph), topology_(graph.topology), mistakes_(mistakes), is_plain_(graph.is_plain()) {}

  bool run() {
    topology_.places.assign(graph_.activities.size(), {});
    if (!find_trigger()) return false;
    link();
    sort();
    place_undos(graph_, mistakes_);
    report_unreachable();
    for (const ActivityIndex index : topology_.order) {
      check_parents(index);
      place(index);
    }
    if (!is_plain_) fill_ancestors();
    return true;
  }

 private:
  void report(const Where& where, Code code, std::string message, std::string suggestion = {}) {
    mistakes_.add({.code = code,
                   .mark = where.mark,
                   .path = where.path,
                   .message = std::move(message),
                   .suggestion = std::move(suggestion)});
  }
  const std::string& id(ActivityIndex index) const { return graph_.activities[index].id; }

  bool find_trigger() {
    bool found = false;
    for (ActivityIndex i = 0; i < graph_.activities.size(); ++i) {
      if (!std::holds_alternative<Trigger>(graph_.activities[i].kind)) continue;
      if (found) {
        report(graph_.activities[i].where, Code::two_triggers,
               format("'{}' is the trigger of this graph already", id(topology_.trigger)));
      } else {
        topology_.trigger = i;
        found = true;
      }
    }
    if (!found) report(graph_.where, Code::no_trigger, "a graph has exactly one activity of type trigger");
    return found;
  }

  void link() {
    std::unordered_set<std::uint64_t> seen;
    for (std::uint32_t i = 0; i < graph_.transitions.size(); ++i) {
      const Transition& transition = graph_.transitions[i];
      const Activity& from = graph_.activities[transition.from];
      if (transition.to == topology_.trigger) {
        report(transition.where, Code::into_trigger, "nothing leads into a trigger; to loop, use a cycle");
        continue;
      }
      if (!seen.insert((std::uint64_t{transition.from} << 32U) | transition.to).second) {
        report(
            transition.where, Code::duplicate_transition,
            format("'{}' leads to '{}' already; put both conditions into one transition", from.id, id(transition.to)));
        continue;
      }
      if (std::holds_alternative<Cycle>(from.kind))
        report(transition.where, Code::never_leaves,
               format("'{}' is a cycle: it continues at its ancestor, never here", from.id));
      if (const auto* interrupt = std::get_if<Interrupt>(&from.kind); interrupt && !interrupt->target)
        report(transition.where, Code::never_leaves,
               format("'{}' interrupts its own job: nothing follows it", from.id));
      topology_.places[transition.from].out.push_back(i);
      topology_.places[transition.to].in.push_back(i);
    }
  }

  // Depth-first from the trigger, without recursion: 2,000 activities in a row are legal. An edge
  // back to an activity on the current path closes a loop; it is reported and taken out.
  void sort() {
    enum class Colour : std::uint8_t { white, grey, black };
    std::vector<Colour> colours(graph_.activities.size(), Colour::white);
    struct Frame {
      ActivityIndex at;
      std::size_t next = 0;
    };
    std::vector<Frame> stack{{topology_.trigger}};
    colours[topology_.trigger] = Colour::grey;
    while (!stack.empty()) {
      Frame& frame = stack.back();
      Place& place = topology_.places[frame.at];
      if (frame.next == place.out.size()) {
        colours[frame.at] = Colour::black;
        place.reachable = true;
        topology_.order.push_back(frame.at);
        stack.pop_back();
        continue;
      }
      const std::uint32_t edge = place.out[frame.next];
      const ActivityIndex to = graph_.transitions[edge].to;
      if (colours[to] == Colour::grey) {
        report(graph_.transitions[edge].where, Code::transition_loop,
               format("'{}' comes before '{}' already; to loop, use an activity of type cycle", id(to), id(frame.at)));
        place.out.erase(place.out.begin() + static_cast<std::ptrdiff_t>(frame.next));
        std::erase(topology_.places[to].in, edge);
        continue;
      }
      ++frame.next;
      if (colours[to] == Colour::white) {
        colours[to] = Colour::grey;
        stack.push_back({to});
      }
    }
    std::reverse(topology_.order.begin(), topology_.order.end());
  }

  // One mistake per unreachable part, at its first activity: the others follow from that.
  void report_unreachable() {
    std::vector<bool> known(graph_.activities.size());
    for (ActivityIndex i = 0; i < known.size(); ++i) known[i] = topology_.places[i].reachable;
    const auto report_island = [&](ActivityIndex start) {
      std::vector<ActivityIndex> queue{start};
      known[start] = true;
      std::size_t behind = 0;
      while (!queue.empty()) {
        const ActivityIndex at = queue.back();
        queue.pop_back();
        for (const std::uint32_t edge : topology_.places[at].out) {
          const ActivityIndex to = graph_.transitions[edge].to;
          if (known[to]) continue;
          known[to] = true;
          ++behind;
          queue.push_back(to);
        }
      }
      // A second trigger was reported as such.
      if (std::holds_alternative<Trigger>(graph_.activities[start].kind)) return;
      report(graph_.activities[start].where, Code::unreachable,
             behind == 0
                 ? format("no transition leads from the trigger to '{}'", id(start))
                 : format("no transition leads from the trigger to '{}' and the {} behind it", id(start), behind));
    };
    for (ActivityIndex i = 0; i < known.size(); ++i)
      if (!known[i] && topology_.places[i].in.empty()) report_island(i);
    for (ActivityIndex i = 0; i < known.size(); ++i)
      if (!known[i]) report_island(i);
  }

  void check_parents(ActivityIndex index) {
    auto& in = topology_.places[index].in;
    // Edges from unreachable activities never fire.
    std::erase_if(in, [&](std::uint32_t edge) { return !topology_.places[graph_.transitions[edge].from].reachable; });
    if (in.size() < 2 || std::holds_alternative<Join>(graph_.activities[index].kind)) return;
    const Transition& first = graph_.transitions[in[0]];
    for (std::size_t i = 1; i < in.size(); ++i) {
      const Transition& other = graph_.transitions[in[i]];
      report(other.where, Code::two_parents,
             format("'{}' is reached from '{}' and from '{}'; let them meet in an activity of type join", id(index),
                    id(first.from), id(other.from)));
    }
  }

  // The chain of a join is what all its parents' chains have in common, then itself; of any other
  // activity its parent's chain, then itself.
  // A plain graph has no joins, and no code needs the way from one activity to another: ten thousand in a row need no
  // chains.
  void place(ActivityIndex index) {
    Place& here = topology_.places[index];
    if (!here.in.empty()) here.depth = topology_.places[graph_.transitions[here.in.back()].from].depth + 1;
    if (here.undoes) here.depth = topology_.places[*here.undoes].depth + 1;
    if (is_plain_) return;
    if (here.undoes) here.chain = topology_.places[*here.undoes].chain;
    if (!here.in.empty()) {
      const bool is_join = std::holds_alternative<Join>(graph_.activities[index].kind);
      here.chain = topology_.places[graph_.transitions[here.in.back()].from].chain;
      if (is_join) {
        for (const std::uint32_t edge : here.in) {
          const auto& other = topology_.places[graph_.transitions[edge].from].chain;
          const auto end = std::mismatch(here.chain.begin(), here.chain.end(), other.begin(), other.end());
          here.chain.erase(end.first, here.chain.end());
        }
      }
    }
    here.chain.push_back(index);
  }

  void fill_ancestors() {
    const std::size_t count = graph_.activities.size();
    topology_.ancestors.assign(count, std::vector<bool>(count, false));
    for (const ActivityIndex index : topology_.order) {
      auto& mine = topology_.ancestors[index];
      const auto add = [&](ActivityIndex parent) {
        const auto& theirs = topology_.ancestors[parent];
        for (std::size_t i = 0; i < count; ++i)
          if (theirs[i]) mine[i] = true;
        mine[parent] = true;
      };
      for (const std::uint32_t edge : topology_.places[index].in) add(graph_.transitions[edge].from);
      if (const auto undoes = topology_.places[index].undoes) add(*undoes);
    }
  }

  Graph& graph_;
  Topology& topology_;
  Mistakes& mistakes_;
  const bool is_plain_;
};

}  // namespace

bool check_structure(Graph& graph, Mistakes& mistakes) { return Structure(graph, mistakes).run(); }

}  // namespace pawl::graph
