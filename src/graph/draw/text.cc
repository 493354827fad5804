#include "base/format.h"
#include "graph/draw/caption.h"
#include "graph/draw/draw.h"

namespace pawl::graph {
namespace {

// A tree from the trigger down. A join is written out under the last transition that leads to it,
// and named under the others.
class Tree {
 public:
  explicit Tree(const Graph& graph) : graph_(graph), arrivals_(graph.activities.size()) {}

  std::string run() {
    out_ += graph_.subscribes;
    if (!graph_.publishes.empty()) out_ += "  →  " + graph_.publishes;
    out_ += '\n';
    walk();
    return std::move(out_);
  }

 private:
  struct Line {
    ActivityIndex activity;
    std::string condition;
    std::string prefix;  // the text before the branch sign
    bool last;
  };

  void walk() {
    std::vector<Line> stack{{graph_.topology.trigger, {}, {}, true}};
    while (!stack.empty()) {
      const Line line = std::move(stack.back());
      stack.pop_back();
      const Activity& activity = graph_.activities[line.activity];
      const Place& place = graph_.topology.places[line.activity];
      out_ += line.prefix + (line.last ? "└─ " : "├─ ");
      if (!line.condition.empty()) out_ += "[" + line.condition + "] ";
      if (++arrivals_[line.activity] < place.in.size()) {
        out_ += "→ " + activity.id + "\n";
        continue;
      }
      out_ += activity.id + "  " + subtitle_of(activity);
      if (!activity.title.empty()) out_ += "  \"" + activity.title + "\"";
      out_ += '\n';
      const std::string below = line.prefix + (line.last ? "   " : "│  ");
      for (std::size_t i = place.out.size(); i-- > 0;) {
        const Transition& transition = graph_.transitions[place.out[i]];
        stack.push_back({transition.to, condition_of(graph_, transition), below, i + 1 == place.out.size()});
      }
    }
  }

  const Graph& graph_;
  std::vector<std::size_t> arrivals_;
  std::string out_;
};

}  // namespace

std::string draw_text(const Graphs& graphs) {
  std::string out;
  for (const Graph* graph : graphs) {
    if (!out.empty()) out += '\n';
    out += Tree(*graph).run();
  }
  return out;
}

}  // namespace pawl::graph
