// The texts of a picture: in a node and on an edge.
#pragma once

#include <string>

#include "graph/model.h"

namespace pawl::graph {

std::string title_of(const Activity& activity);     // its title, else its id
std::string subtitle_of(const Activity& activity);  // "worker · order.ship", "hook · sleep 10s"
std::string condition_of(const Graph& graph,
                         const Transition& transition);  // "402 or 503, state = ready"

// At most `characters` characters, with an ellipsis when something was cut.
std::string shortened(const std::string& text, std::size_t characters);
std::size_t character_count(std::string_view text);

}  // namespace pawl::graph
