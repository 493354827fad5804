// The entry of this folder: takes a checked app and returns graphs that the engine runs.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/graph.h"
#include "graph/model.h"
#include "pawl/result.h"

namespace pawl::execute {

using core::Graph;

// "<app id>/<topic>", or the id alone when the topic is the same as the id.
std::string graph_name(std::string_view app, std::string_view topic);

// One graph per graph of the app. `content` is the text of all files of the app: a job runs only on the exact content
// that it started on. Errors: a name that the language allows and the engine does not, with what to change.
Result<std::vector<Graph>> assemble(std::shared_ptr<const graph::App> app, std::string_view content);

// The number of a version: the version itself when it is a whole number, else a 31-bit hash of the text.
std::uint32_t version_number(std::string_view version);

}  // namespace pawl::execute
