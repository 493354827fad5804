// The position of everything: layers from the trigger down, few crossings, straight long edges. Lengths are in the
// SVG's units (pixels at 100 %).
#pragma once

#include <string>
#include <vector>

#include "graph/model.h"

namespace pawl::graph {

struct Point {
  double x = 0;
  double y = 0;
};

struct Box {
  Point centre;
  double width = 0;
  double height = 0;
  double left() const { return centre.x - width / 2; }
  double right() const { return centre.x + width / 2; }
  double top() const { return centre.y - height / 2; }
  double bottom() const { return centre.y + height / 2; }
};

struct DrawnNode {
  ActivityIndex activity = 0;
  Box box;
  std::string title, subtitle;
};
struct DrawnEdge {
  std::vector<Point> points;  // from the bottom of its source to the top of its target
  std::string label;
  Box label_box;  // meaningless without a label
  bool on_error = false;
};
struct DrawnLoop {
  std::vector<Point> points;  // corners, from a cycle back to its pivot
};
struct DrawnRegion {
  ActivityIndex map = 0;
  Box box;
};

struct Layout {
  double width = 0;
  double height = 0;
  std::vector<DrawnNode> nodes;
  std::vector<DrawnEdge> edges;
  std::vector<DrawnLoop> loops;
  std::vector<DrawnRegion> regions;
};

Layout lay_out(const Graph& graph);

}  // namespace pawl::graph
