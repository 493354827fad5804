#include <algorithm>

#include "base/format.h"
#include "graph/draw/caption.h"
#include "graph/draw/draw.h"
#include "graph/draw/layout.h"

namespace pawl::graph {
namespace {

constexpr double header_height = 44;

// Plain class rules, no variables: every viewer understands them. Dark mode uses the second set.
constexpr std::string_view style = R"(
text { font-family: Inter, "Segoe UI", "Helvetica Neue", Arial, sans-serif; }
.title { font-size: 13px; font-weight: 600; fill: #1c2430; text-anchor: middle; }
.sub { font-size: 11px; fill: #5a6675; text-anchor: middle; }
.topic { font-size: 15px; font-weight: 700; fill: #1c2430; }
.edge { fill: none; stroke: #8592a3; stroke-width: 1.6; }
.error { stroke: #c8453b; }
.loop { fill: none; stroke: #0f8a7e; stroke-width: 1.6; stroke-dasharray: 5 4; }
.tip { fill: #8592a3; }
.tip-error { fill: #c8453b; }
.tip-loop { fill: #0f8a7e; }
.pill { fill: #ffffff; stroke: #c9d1db; }
.label { font-size: 11px; fill: #3d4856; text-anchor: middle; }
.region { fill: #0b7fab; fill-opacity: 0.06; stroke: #0b7fab; stroke-opacity: 0.45; stroke-dasharray: 4 4; }
.shape { stroke-width: 1.6; }
.thin { fill: none; stroke-width: 1.2; }
.trigger { fill: #e3f5e8; stroke: #2e9150; }
.worker { fill: #e6effc; stroke: #2f6bd0; }
.await { fill: #efe8fc; stroke: #7a4fd0; }
.hook { fill: #fdf3da; stroke: #b98310; }
.signal { fill: #fdeadb; stroke: #cf6a1b; }
.cycle { fill: #def5f2; stroke: #0f8a7e; }
.interrupt { fill: #fce4e2; stroke: #c8453b; }
.join { fill: #e6e8fb; stroke: #4a55c4; }
.map { fill: #def1f8; stroke: #0b7fab; }
@media (prefers-color-scheme: dark) {
.title, .topic { fill: #eef2f7; }
.sub { fill: #a9b5c4; }
.pill { fill: #1b222c; stroke: #414d5c; }
.label { fill: #d3dbe5; }
.trigger { fill: #14331f; }
.worker { fill: #152a4a; }
.await { fill: #2a1f4a; }
.hook { fill: #3a2d0c; }
.signal { fill: #40260f; }
.cycle { fill: #0c3330; }
.interrupt { fill: #431a17; }
.join { fill: #1f2450; }
.map { fill: #0d3140; }
}
)";

std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      default:
        out += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
    }
  }
  return out;
}

std::string rectangle(const Box& box, double radius, std::string_view classes) {
  return format(R"(<rect class="{}" x="{:.1f}" y="{:.1f}" width="{:.1f}" height="{:.1f}" rx="{:.1f}"/>)", classes,
                box.left(), box.top(), box.width, box.height, radius);
}

std::string polygon(const std::vector<Point>& points, std::string_view classes) {
  std::string list;
  for (const Point& point : points) list += format("{:.1f},{:.1f} ", point.x, point.y);
  list.pop_back();
  return format(R"(<polygon class="{}" points="{}" stroke-linejoin="round"/>)", classes, list);
}

Box moved(Box box, double x, double y) {
  box.centre.x += x;
  box.centre.y += y;
  return box;
}

// One outline per kind, so that kinds can be distinguished in a print without colours.
std::string shape(const Activity& activity, const Box& box) {
  const std::string kind(name_of(activity.kind));
  const std::string classes = "shape " + kind;
  constexpr double cut = 12;
  const double l = box.left(), r = box.right(), t = box.top(), b = box.bottom();
  const double middle = box.centre.y;
  if (kind == "trigger" || kind == "cycle") return rectangle(box, box.height / 2, classes);
  if (kind == "hook")
    return polygon({{l + cut, t}, {r - cut, t}, {r, middle}, {r - cut, b}, {l + cut, b}, {l, middle}}, classes);
  if (kind == "signal") return polygon({{l, t}, {r - cut, t}, {r, middle}, {r - cut, b}, {l, b}}, classes);
  if (kind == "interrupt")
    return polygon({{l + cut, t},
                    {r - cut, t},
                    {r, t + cut},
                    {r, b - cut},
                    {r - cut, b},
                    {l + cut, b},
                    {l, b - cut},
                    {l, t + cut}},
                   classes);
  if (kind == "join") return polygon({{l, t}, {r, t}, {r - cut, b}, {l + cut, b}}, classes);
  if (kind == "map")
    return rectangle(moved(box, 6, 6), 8, classes) + rectangle(moved(box, 3, 3), 8, classes) +
           rectangle(box, 8, classes);
  if (kind == "await") {
    Box inner = box;
    inner.width -= 8;
    inner.height -= 8;
    return rectangle(box, 8, classes) + rectangle(inner, 5, "thin await-line " + kind);
  }
  return rectangle(box, 8, classes);
}

std::string node_text(const DrawnNode& node) {
  const double x = node.box.centre.x;
  const double y = node.box.centre.y;
  return format(R"(<text class="title" x="{:.1f}" y="{:.1f}">{}</text>)", x, y - 3, escaped(node.title)) +
         format(R"(<text class="sub" x="{:.1f}" y="{:.1f}">{}</text>)", x, y + 13, escaped(node.subtitle));
}

// Smooth between layers, straight through them; vertical at both ends, so that arrow heads are upright.
std::string smooth_path(const std::vector<Point>& points) {
  std::string out = format("M{:.1f} {:.1f}", points[0].x, points[0].y);
  for (std::size_t i = 1; i < points.size(); ++i) {
    const Point from = points[i - 1];
    Point to = points[i];
    if (i + 1 == points.size()) to.y -= 7;  // room for the arrow head
    if (from.x == to.x) {
      out += format(" L{:.1f} {:.1f}", to.x, to.y);
      continue;
    }
    const double middle = (from.y + to.y) / 2;
    out += format(" C{:.1f} {:.1f} {:.1f} {:.1f} {:.1f} {:.1f}", from.x, middle, to.x, middle, to.x, to.y);
  }
  return out;
}

std::string cornered_path(const std::vector<Point>& points) {
  constexpr double radius = 8;
  std::string out = format("M{:.1f} {:.1f}", points[0].x, points[0].y);
  const auto towards = [](Point from, Point to, double distance) {
    const double length = std::max(std::abs(to.x - from.x) + std::abs(to.y - from.y), 0.1);
    const double part = std::min(distance / length, 0.5);
    return Point{from.x + (to.x - from.x) * part, from.y + (to.y - from.y) * part};
  };
  for (std::size_t i = 1; i + 1 < points.size(); ++i) {
    const Point before = towards(points[i], points[i - 1], radius);
    const Point after = towards(points[i], points[i + 1], radius);
    out += format(" L{:.1f} {:.1f} Q{:.1f} {:.1f} {:.1f} {:.1f}", before.x, before.y, points[i].x, points[i].y, after.x,
                  after.y);
  }
  return out + format(" L{:.1f} {:.1f}", points.back().x, points.back().y - 7);
}

std::string arrow_head(Point tip, std::string_view classes) {
  return polygon({{tip.x, tip.y}, {tip.x - 4.5, tip.y - 8}, {tip.x + 4.5, tip.y - 8}}, classes);
}

std::string draw_graph(const Graph& graph, const Layout& layout) {
  std::string out;
  for (const DrawnRegion& region : layout.regions) out += rectangle(region.box, 12, "region") + "\n";
  for (const DrawnEdge& edge : layout.edges) {
    out += format(R"(<path class="edge{}" d="{}"/>)", edge.on_error ? " error" : "", smooth_path(edge.points));
    out += arrow_head(edge.points.back(), edge.on_error ? "tip-error" : "tip") + "\n";
  }
  for (const DrawnLoop& loop : layout.loops) {
    out += format(R"(<path class="loop" d="{}"/>)", cornered_path(loop.points));
    out += arrow_head(loop.points.back(), "tip-loop") + "\n";
  }
  for (const DrawnEdge& edge : layout.edges) {
    if (edge.label.empty()) continue;
    out += rectangle(edge.label_box, edge.label_box.height / 2, "pill");
    out += format(R"(<text class="label" x="{:.1f}" y="{:.1f}">{}</text>)", edge.label_box.centre.x,
                  edge.label_box.centre.y + 4, escaped(edge.label)) +
           "\n";
  }
  for (const DrawnNode& node : layout.nodes) {
    const Activity& activity = graph.activities[node.activity];
    out += format(R"(<g data-activity="{0}"><title>{0}</title>)", escaped(activity.id)) + shape(activity, node.box) +
           node_text(node) + "</g>\n";
  }
  return out;
}

}  // namespace

std::string draw_svg(const Graphs& graphs) {
  std::string body;
  double width = 0;
  double height = 0;
  for (const Graph* graph : graphs) {
    const Layout layout = lay_out(*graph);
    const std::string caption = graph->title.empty() ? graph->subscribes : graph->title;
    body += format(R"(<text class="topic" x="24" y="{:.1f}">{}</text>)", height + 30, escaped(caption)) + "\n";
    body += format(R"svg(<g transform="translate(0 {:.1f})">)svg", height + header_height - 12) + "\n" +
            draw_graph(*graph, layout) + "</g>\n";
    width = std::max({width, layout.width, 48 + 9.0 * static_cast<double>(character_count(caption))});
    height += layout.height + header_height;
  }
  return format(R"(<svg xmlns="http://www.w3.org/2000/svg" width="{0:.0f}" height="{1:.0f}" )"
                R"(viewBox="0 0 {0:.0f} {1:.0f}" role="img">)",
                width, height) +
         format("\n<style>{}</style>\n", style) + body + "</svg>\n";
}

}  // namespace pawl::graph
