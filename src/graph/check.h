// The entry of this folder: takes text; returns a checked, compiled app or a list of mistakes.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "graph/loader.h"
#include "graph/mistake.h"
#include "graph/model.h"
#include "graph/source.h"

namespace pawl::graph {

struct CheckOptions {
  bool force_hotmesh = false;  // as if the file had `compat: hotmesh`
};

struct Checked {
  // Set exactly when no mistake is an error. Shared: jobs keep the version they started on alive.
  std::shared_ptr<const App> app;
  std::vector<Mistake> mistakes;  // in the order of the file, warnings included
  std::size_t left_out = 0;       // mistakes beyond mistakes_max
  Sources sources;                // the texts that the marks refer to
  bool could_read = true;         // false when the main file could not be read at all
};

Checked check(const Loader& loader, std::string_view main_file, const CheckOptions& options = {});
// The app's folder is the folder of the file.
Checked check_file(const std::string& path, const CheckOptions& options = {});
Checked check_text(std::string text, const CheckOptions& options = {});

}  // namespace pawl::graph
