// YAML text to a Node tree, within limits: size, depth, nodes (aliases expanded), duplicate keys, UTF-8. The only place
// that knows yaml-cpp.
#pragma once

#include <cstdint>
#include <optional>

#include "graph/mistake.h"
#include "graph/node.h"
#include "graph/source.h"

namespace pawl::graph {

// Parses file number `file` of `sources`. Empty when the text is not usable; `mistakes` then has the reason. A
// duplicate key is a mistake too, but parsing continues to find the others.
std::optional<Node> parse_yaml(const Sources& sources, std::uint32_t file, Mistakes& mistakes);

}  // namespace pawl::graph
