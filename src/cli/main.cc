// The pawl binary: parses the command line and hands over to one command. Each command has a file.
#include <CLI/CLI.hpp>

#include "cli/commands.h"

int main(int argc, char** argv) {
  CLI::App app{"Pawl: durable workflows. What was done stays done, whatever crashes."};
  app.name("pawl");
  app.set_version_flag("--version", PAWL_VERSION);
  app.require_subcommand(1);
  app.fallthrough(false);

  int exit_code = 0;
  for (const auto add : pawl::cli::commands) add(app, exit_code);
  CLI11_PARSE(app, argc, argv);
  return exit_code;
}
