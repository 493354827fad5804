// The pawl binary: parses the command line and hands over to one command. Each command has a file.
#include <fcntl.h>
#include <unistd.h>
#include <CLI/CLI.hpp>

#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

#include "base/utf8.h"
#include "cli/commands.h"
#include "mapping/suggest.h"

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

std::vector<const CLI::App*> commands_of(const CLI::App& app) {
  return app.get_subcommands([](const CLI::App*) { return true; });
}

bool is_command(const CLI::App& app, const std::string& word) {
  for (const CLI::App* command : commands_of(app))
    if (command->get_name() == word) return true;
  return false;
}

// What was probably meant by a word that is no command, or no option of the command.
void suggest(const CLI::App& app, int argc, char** argv) {
  std::vector<std::string> names;
  std::string wrong;
  const CLI::App* chosen = nullptr;
  for (const CLI::App* command : commands_of(app))
    if (argc > 1 && command->get_name() == argv[1]) chosen = command;
  if (chosen == nullptr) {
    if (argc < 2) return;
    wrong = argv[1];
    for (const CLI::App* command : commands_of(app)) names.push_back(command->get_name());
  } else {
    for (const CLI::Option* option : chosen->get_options())
      for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
    for (int i = 2; i < argc && wrong.empty(); ++i) {
      const std::string word = argv[i];
      const std::string name = word.substr(0, word.find('='));
      if (name.starts_with("--") && name.size() > 2 && chosen->get_option_no_throw(name) == nullptr) wrong = name;
    }
  }
  if (wrong.empty()) return;
  const std::vector<std::string_view> known(names.begin(), names.end());
  const std::string_view near = pawl::mapping::nearest(wrong, known);
  if (!near.empty())
    std::fprintf(stderr, "Did you mean %s%s?\n", chosen == nullptr ? "pawl " : "", std::string(near).c_str());
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
    // --help and --version are no errors; all that cannot be read is wrong input (docs/RUN.md, exit codes).
    if (argc > 1 && argv[1][0] != '-' && !is_command(app, argv[1]))
      std::fprintf(stderr, "pawl: there is no command %s; pawl --help lists them\n", pawl::printable(argv[1]).c_str());
    else if (app.exit(error) == 0)
      return 0;
    suggest(app, argc, argv);
    explain_dash(app, argc, argv);
    return 2;
  }
  return exit_code;
}
