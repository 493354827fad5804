// The pawl binary: parses the command line and hands over to one command. Each command has a file.
#include <fcntl.h>
#include <unistd.h>
#include <CLI/CLI.hpp>

#include <cstdio>
#include <string>

#include "base/utf8.h"
#include "cli/commands.h"

namespace {

// If a standard stream is closed, the next opened file gets its number, and printed text would go into that file.
void open_standard_streams() {
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
    if (fcntl(stream, F_GETFD) < 0 && ::open("/dev/null", O_RDWR) != stream)
      _exit(1);  // it takes the lowest free number
}

// A value that was read as an option: a job's id may begin with a -.
void explain_dash(const CLI::App& app, int argc, char** argv) {
  if (argc < 3) return;
  const auto chosen = app.get_subcommands();
  if (chosen.empty()) return;
  for (int i = 2; i < argc; ++i) {
    const std::string word = argv[i];
    if (word == "--") return;
    if (word.size() < 2 || word[0] != '-' || word[1] == '-') continue;
    if (chosen.front()->get_option_no_throw(word.substr(0, 2)) != nullptr) continue;
    const std::string shown = pawl::printable(word);
    std::fprintf(stderr,
                 "A name that begins with - stands behind --, or behind = of its option: pawl %s -- %s, --job=%s\n",
                 chosen.front()->get_name().c_str(), shown.c_str(), shown.c_str());
    return;
  }
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
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    const int code = app.exit(error);
    if (code != 0) explain_dash(app, argc, argv);
    return code;
  }
  return exit_code;
}
