// An app from several files: every `$ref: other.yaml#/pointer` is replaced by what it names.
//
// `#/$defs/...` and `#` stay: inside a schema they are JSON Schema's own references. Keys beside a $ref override those
// of its target.
#pragma once

#include <optional>
#include <string_view>

#include "graph/loader.h"
#include "graph/mistake.h"
#include "graph/node.h"
#include "graph/source.h"

namespace pawl::graph {

// Reads the main file and all files it refers to. Empty when the main file is not usable.
std::optional<Node> load_document(const Loader& loader, std::string_view main_file, Sources& sources,
                                  Mistakes& mistakes);

}  // namespace pawl::graph
