// The pawl binary: parses the command line and hands over to one command. Each command has a file.
#include <fcntl.h>
#include <unistd.h>
#include <CLI/CLI.hpp>

#include "cli/commands.h"

namespace {

// A standard stream that is closed gives its number to the next file that is opened, and what is printed goes there.
void open_standard_streams() {
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
    if (fcntl(stream, F_GETFD) < 0 && open("/dev/null", O_RDWR) != stream)
      _exit(1);  // it takes the lowest that is free
}

}  // namespace

int main(int argc, char** argv) {
  open_standard_streams();
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
