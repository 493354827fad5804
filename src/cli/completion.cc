// pawl completion SHELL: a script that completes commands, options and their values, made from the commands themselves.
// What only the store knows (job ids, graphs, topics, tasks) the script asks for with `pawl words`.
#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "cli/commands.h"
#include "cli/job_target.h"

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
  for (const CLI::App* command : app.get_subcommands([](const CLI::App* one) { return !one->get_group().empty(); }))
    found.push_back(command);
  std::sort(found.begin(), found.end(), [](const auto* a, const auto* b) { return a->get_name() < b->get_name(); });
  return found;
}

constexpr const char* states = "running completed failed interrupted parked paused";
constexpr const char* formats = "text svg mermaid";
constexpr std::uint32_t ids_max = 200;

// Which commands have a job, or a topic, as their first word.
constexpr const char* of_jobs = "show watch history export pause resume interrupt cancel redrive remove rerun settle";
constexpr const char* of_topics = "start stats";
constexpr const char* of_tasks = "claim release resolve";

std::string bash_cases(const char* commands, const char* words) {
  std::string names(commands);
  for (char& c : names)
    if (c == ' ') c = '|';
  return fmt::format("    {}) values=$(\"${{COMP_WORDS[0]}}\" words {} 2>/dev/null) ;;\n", names, words);
}

std::string bash_script(const CLI::App& app) {
  std::string names;
  std::string cases;
  for (const CLI::App* command : commands_of(app)) {
    names += (names.empty() ? "" : " ") + command->get_name();
    cases += fmt::format("    {}) words=\"{}\" ;;\n", command->get_name(), flags_of(*command));
  }
  // clang-format off
  return fmt::format(R"bash(_pawl() {{
  local words= values= here="${{COMP_WORDS[COMP_CWORD]}}" before="${{COMP_WORDS[COMP_CWORD-1]}}" pawl="${{COMP_WORDS[0]}}"
  if [ "$COMP_CWORD" -eq 1 ]; then
    COMPREPLY=($(compgen -W "{} {}" -- "$here"))
    return
  fi
  case "$before" in
    --status|--state) values="{}" ;;
    --format) values="{}" ;;
    --graph) values=$("$pawl" words graphs 2>/dev/null) ;;
    --topic) values=$("$pawl" words topics 2>/dev/null) ;;
    --job) values=$("$pawl" words jobs 2>/dev/null) ;;
  esac
  if [ -n "$values" ]; then
    COMPREPLY=($(compgen -W "$values" -- "$here"))
    return
  fi
  case "${{COMP_WORDS[1]}}" in
{}  esac
  if [ "${{here#-}}" != "$here" ]; then
    COMPREPLY=($(compgen -W "$words" -- "$here"))
    return
  fi
  if [ "$COMP_CWORD" -eq 2 ]; then
    case "${{COMP_WORDS[1]}}" in
{}{}{}    esac
  fi
  if [ -n "$values" ]; then
    COMPREPLY=($(compgen -W "$values" -- "$here"))
  else
    COMPREPLY=($(compgen -f -- "$here"))
  fi
}}
complete -o filenames -F _pawl pawl
)bash",
                     names, flags_of(app), states, formats, cases, bash_cases(of_jobs, "jobs"),
                     bash_cases(of_topics, "topics"), bash_cases(of_tasks, "tasks"));
  // clang-format on
}

std::string zsh_script(const CLI::App& app) {
  return "autoload -U +X compinit && compinit\nautoload -U +X bashcompinit && bashcompinit\n" + bash_script(app);
}

std::string fish_quoted(std::string text) {
  for (std::size_t at = 0; (at = text.find_first_of("'\\", at)) != std::string::npos; at += 2) text.insert(at, "\\");
  return "'" + text + "'";
}

// What may stand behind an option, if it is known.
std::string fish_values(const std::string& option) {
  if (option == "status" || option == "state") return fmt::format("-x -a '{}' ", states);
  if (option == "format") return fmt::format("-x -a '{}' ", formats);
  if (option == "graph") return "-x -a '(pawl words graphs 2>/dev/null)' ";
  if (option == "topic") return "-x -a '(pawl words topics 2>/dev/null)' ";
  if (option == "job") return "-x -a '(pawl words jobs 2>/dev/null)' ";
  return "";
}

std::string fish_script(const CLI::App& app) {
  std::string script;
  for (const CLI::App* command : commands_of(app)) {
    script += fmt::format("complete -c pawl -n __fish_use_subcommand -f -a {} -d {}\n", command->get_name(),
                          fish_quoted(command->get_description()));
    for (const CLI::Option* option : command->get_options())
      for (const std::string& name : option->get_lnames())
        script += fmt::format("complete -c pawl -n '__fish_seen_subcommand_from {}' -l {} {}-d {}\n",
                              command->get_name(), name, fish_values(name), fish_quoted(option->get_description()));
  }
  script += fmt::format("complete -c pawl -n '__fish_seen_subcommand_from {}' -f -a '(pawl words jobs 2>/dev/null)'\n",
                        of_jobs);
  script += fmt::format(
      "complete -c pawl -n '__fish_seen_subcommand_from {}' -f -a '(pawl words topics 2>/dev/null)'\n", of_topics);
  script += fmt::format("complete -c pawl -n '__fish_seen_subcommand_from {}' -f -a '(pawl words tasks 2>/dev/null)'\n",
                        of_tasks);
  return script;
}

// Names of the store, a line each. Nothing at all if there is no store: a shell shows no errors.
int print_words(const StoreOptions& store, const std::string& what) {
  auto runtime = open_existing(store);
  if (!runtime) return 0;
  if (what == "jobs") {
    JobFilter filter;
    filter.order = JobOrder::newest_first;
    filter.rows_max = ids_max;
    filter.without_data = true;
    if (const auto jobs = runtime->list(filter))
      for (const JobView& job : *jobs) fmt::print("{}\n", job.id.raw());
    return 0;
  }
  if (what == "tasks") {
    TaskFilter filter;
    filter.rows_max = ids_max;
    if (const auto tasks = runtime->tasks(filter))
      for (const Task& task : *tasks) fmt::print("{}\n", task.id);
    return 0;
  }
  if (const auto apps = runtime->apps())
    for (const AppVersion& app : *apps)
      for (const std::string& topic : app.topics) fmt::print("{}\n", what == "graphs" ? app.app + "/" + topic : topic);
  return 0;
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

  auto store = std::make_shared<StoreOptions>();
  auto what = std::make_shared<std::string>();
  CLI::App* words = app.add_subcommand("words", "The names that a completion script offers")->group("");
  add_remote_options(*words, *store);
  words->add_option("what", *what, "jobs, graphs, topics or tasks")
      ->required()
      ->check(CLI::IsMember({"jobs", "graphs", "topics", "tasks"}));
  words->callback([store, what, &exit_code] { exit_code = print_words(*store, *what); });
}

}  // namespace pawl::cli
