// A Value as text: the document that a builder wrote.
#pragma once

#include <string>

#include "pawl/value.h"

namespace pawl::graph {

// YAML in one form: the same value is always the same text. What could not be read as JSON is left out.
std::string yaml_text(const Value& value);

// Why a part of it could not be read, with the way to it; empty: all is well.
std::string broken_part(const Value& value);

}  // namespace pawl::graph
