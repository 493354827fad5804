#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "cli/commands.h"

namespace pawl::cli {

void add_about(CLI::App& app, int&) {
  app.add_subcommand("about", "What this binary is and which limits it was built with")->callback([] {
    fmt::print("pawl {}\n", PAWL_VERSION);
  });
}

}  // namespace pawl::cli
