// What a YAML scalar means: the core schema of YAML 1.2 (null, booleans, integers, reals, text).
#pragma once

#include <string>
#include <string_view>

#include "graph/node.h"

namespace pawl::graph {

enum class ScalarStyle : std::uint8_t { plain, quoted };

// Sets kind and value of `node`. False when the value has no JSON form, such as .nan.
bool resolve_scalar(std::string_view text, ScalarStyle style, Node& node);

// For an explicit tag such as tag:yaml.org,2002:str. False when the tag is unknown or does not fit.
bool resolve_tagged(std::string_view text, std::string_view tag, Node& node);

}  // namespace pawl::graph
