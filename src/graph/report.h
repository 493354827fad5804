// A check's outcome for people (with the line and a pointer under the word) and for programs
// (JSON).
#pragma once

#include <string>

#include "graph/check.h"

namespace pawl::graph {

enum class Colours : std::uint8_t { off, on };

std::string report_text(const Checked& checked, Colours colours);
// For a document that has no visible lines: one line for each mistake, with the path to the key.
std::string mistakes_by_key(const Checked& checked);
// {"ok":bool,"mistakes":[{"code","severity","file","line","column","path","message","suggestion"}],"left_out":n}
std::string report_json(const Checked& checked);

}  // namespace pawl::graph
