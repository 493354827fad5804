// A graph as a picture: for documents (SVG), for Markdown (Mermaid), for the terminal (text).
#pragma once

#include <string>
#include <vector>

#include "graph/model.h"

namespace pawl::graph {

// Takes graphs in the order they are drawn, one under the other.
using Graphs = std::vector<const Graph*>;

std::string draw_svg(const Graphs& graphs);
std::string draw_mermaid(const Graphs& graphs);
std::string draw_text(const Graphs& graphs);

}  // namespace pawl::graph
