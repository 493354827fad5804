#include "base/format.h"
#include "graph/draw/caption.h"
#include "graph/draw/draw.h"

namespace pawl::graph {
namespace {

struct Shape {
  std::string_view kind, open, close, fill, stroke;
};
constexpr Shape shapes[] = {
    {"trigger", "([", "])", "#e3f5e8", "#2e9150"},   {"worker", "(", ")", "#e6effc", "#2f6bd0"},
    {"await", "[[", "]]", "#efe8fc", "#7a4fd0"},     {"hook", "{{", "}}", "#fdf3da", "#b98310"},
    {"signal", ">", "]", "#fdeadb", "#cf6a1b"},      {"cycle", "([", "])", "#def5f2", "#0f8a7e"},
    {"interrupt", "[/", "/]", "#fce4e2", "#c8453b"}, {"join", "[\\", "/]", "#e6e8fb", "#4a55c4"},
    {"map", "[(", ")]", "#def1f8", "#0b7fab"},
};

const Shape& shape_of(const Kind& kind) {
  for (const Shape& shape : shapes)
    if (shape.kind == name_of(kind)) return shape;
  return shapes[1];
}

// Mermaid reads quoted text as HTML with # entities.
std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '"' || c == '<' || c == '>' || c == '&' || c == '#') {
      out += format("#{};", static_cast<int>(c));
    } else {
      out += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
    }
  }
  return out;
}

class Mermaid {
 public:
  Mermaid(const Graph& graph, std::size_t number) : graph_(graph), number_(number) {}

  std::string run() {
    add(1, format("subgraph g{}[\"{}\"]", number_, escaped(graph_.title.empty() ? graph_.subscribes : graph_.title)));
    add_nodes(std::nullopt, 2);
    for (const ActivityIndex index : graph_.topology.order)
      for (const std::uint32_t edge : graph_.topology.places[index].out) add_edge(graph_.transitions[edge]);
    for (const ActivityIndex index : graph_.topology.order)
      if (const auto* cycle = std::get_if<Cycle>(&graph_.activities[index].kind))
        if (const auto pivot = graph_.find(cycle->ancestor)) add(2, format("{} -.-> {}", name(index), name(*pivot)));
    add(1, "end");
    return std::move(out_);
  }

 private:
  void add(std::size_t depth, const std::string& line) { out_ += std::string(depth * 2, ' ') + line + "\n"; }
  // Ids of the language may be words of Mermaid ("end"), so nodes get neutral names.
  std::string name(ActivityIndex index) const { return format("n{}_{}", number_, index); }

  void add_nodes(std::optional<ActivityIndex> map, std::size_t depth) {
    for (const ActivityIndex index : graph_.topology.order) {
      if (graph_.topology.places[index].inside_map != map) continue;
      const Activity& activity = graph_.activities[index];
      const Shape& shape = shape_of(activity.kind);
      add(depth, format("{}{}\"{}<br/><small>{}</small>\"{}:::{}", name(index), shape.open, escaped(title_of(activity)),
                        escaped(subtitle_of(activity)), shape.close, shape.kind));
      if (!std::holds_alternative<Map>(activity.kind)) continue;
      add(depth, format("subgraph m{}_{}[\"each item\"]", number_, index));
      add_nodes(index, depth + 1);
      add(depth, "end");
    }
  }

  void add_edge(const Transition& transition) {
    const std::string label = condition_of(graph_, transition);
    const std::string arrow = label.empty() ? "-->" : format("-->|\"{}\"|", escaped(label));
    add(2, format("{} {} {}", name(transition.from), arrow, name(transition.to)));
  }

  const Graph& graph_;
  std::size_t number_;
  std::string out_;
};

}  // namespace

std::string draw_mermaid(const Graphs& graphs) {
  std::string out = "flowchart TD\n";
  for (std::size_t i = 0; i < graphs.size(); ++i) out += Mermaid(*graphs[i], i).run();
  for (const Shape& shape : shapes)
    out += format("  classDef {} fill:{},stroke:{},color:#1c2430\n", shape.kind, shape.fill, shape.stroke);
  return out;
}

}  // namespace pawl::graph
