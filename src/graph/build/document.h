// A Value as text: the document that a builder wrote.
#pragma once

#include <string>

#include "pawl/value.h"

namespace pawl::graph {

// YAML in one form: the same value always gives the same text. What could not be read as JSON is left out.
std::string yaml_text(const Value& value);

// Why a part of it could not be read, with the path to it; empty: no error.
std::string broken_part(const Value& value);

}  // namespace pawl::graph
