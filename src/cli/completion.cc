// pawl completion SHELL: a script that completes commands and options, made from the commands themselves.
#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "cli/commands.h"

namespace pawl::cli {

namespace {

std::string flags_of(const CLI::App& command) {
  std::string words;
  for (const CLI::Option* option : command.get_options())
    for (const std::string& name : option->get_lnames()) words += fmt::format("{}--{}", words.empty() ? "" : " ", name);
  return words;
}

std::vector<const CLI::App*> commands_of(const CLI::App& app) {
  std::vector<const CLI::App*> found;
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) found.push_back(command);
  std::sort(found.begin(), found.end(), [](const auto* a, const auto* b) { return a->get_name() < b->get_name(); });
  return found;
}

std::string bash_script(const CLI::App& app) {
  std::string names;
  std::string cases;
  for (const CLI::App* command : commands_of(app)) {
    names += (names.empty() ? "" : " ") + command->get_name();
    cases += fmt::format("    {}) words=\"{}\" ;;\n", command->get_name(), flags_of(*command));
  }
  return fmt::format(R"(_pawl() {{
  local words here="${{COMP_WORDS[COMP_CWORD]}}"
  if [ "$COMP_CWORD" -eq 1 ]; then
    COMPREPLY=($(compgen -W "{} {}" -- "$here"))
    return
  fi
  case "${{COMP_WORDS[1]}}" in
{}  esac
  if [ "${{here#-}}" != "$here" ]; then COMPREPLY=($(compgen -W "$words" -- "$here"))
  else COMPREPLY=($(compgen -f -- "$here")); fi
}}
complete -o filenames -F _pawl pawl
)",
                     names, flags_of(app), cases);
}

std::string zsh_script(const CLI::App& app) {
  return "autoload -U +X compinit && compinit\nautoload -U +X bashcompinit && bashcompinit\n" + bash_script(app);
}

std::string fish_quoted(std::string text) {
  for (std::size_t at = 0; (at = text.find_first_of("'\\", at)) != std::string::npos; at += 2) text.insert(at, "\\");
  return "'" + text + "'";
}

std::string fish_script(const CLI::App& app) {
  std::string script;
  for (const CLI::App* command : commands_of(app)) {
    script += fmt::format("complete -c pawl -n __fish_use_subcommand -f -a {} -d {}\n", command->get_name(),
                          fish_quoted(command->get_description()));
    for (const CLI::Option* option : command->get_options())
      for (const std::string& name : option->get_lnames())
        script += fmt::format("complete -c pawl -n '__fish_seen_subcommand_from {}' -l {} -d {}\n", command->get_name(),
                              name, fish_quoted(option->get_description()));
  }
  return script;
}

}  // namespace

void add_completion(CLI::App& app, int& exit_code) {
  auto shell = std::make_shared<std::string>();
  CLI::App* command = app.add_subcommand(
      "completion", "Print a completion script: put  eval \"$(pawl completion bash)\"  into ~/.bashrc");
  command->add_option("shell", *shell, "bash, zsh or fish")->required()->check(CLI::IsMember({"bash", "zsh", "fish"}));
  command->callback([shell, &app, &exit_code] {
    fmt::print("{}", *shell == "bash" ? bash_script(app) : *shell == "zsh" ? zsh_script(app) : fish_script(app));
    exit_code = 0;
  });
}

}  // namespace pawl::cli
