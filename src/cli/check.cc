// pawl check FILE: all mistakes of an app's YAML. Exit code 0: none, 1: mistakes, 2: the file cannot be read.
#include <fmt/format.h>
#include <unistd.h>
#include <CLI/CLI.hpp>

#include <cstdlib>
#include <memory>
#include <string>

#include "cli/commands.h"
#include "graph/check.h"
#include "graph/report.h"

namespace pawl::cli {
namespace {

struct CheckArguments {
  std::string file;
  std::string colour = "auto";
  bool json = false;
  bool hotmesh = false;
};

graph::Colours colours_for(const CheckArguments& options) {
  if (options.colour == "always") return graph::Colours::on;
  if (options.colour == "never" || std::getenv("NO_COLOR") != nullptr) return graph::Colours::off;
  return isatty(STDOUT_FILENO) != 0 ? graph::Colours::on : graph::Colours::off;
}

int run_check(const CheckArguments& options) {
  const auto checked = graph::check_file(options.file, {.force_hotmesh = options.hotmesh});
  if (options.json) {
    fmt::print("{}\n", graph::report_json(checked));
  } else {
    fmt::print("{}", graph::report_text(checked, colours_for(options)));
  }
  if (!checked.could_read) return 2;
  return checked.app ? 0 : 1;
}

}  // namespace

void add_check(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<CheckArguments>();  // shared: the callback outlives this function
  auto* command = app.add_subcommand("check", "Find every mistake in an app's YAML");
  command->add_option("file", options->file, "The app's main file; $refs stay inside its folder")->required();
  command->add_flag("--json", options->json, "Machine-readable output");
  command->add_flag("--compat-hotmesh", options->hotmesh, "As if the file said compat: hotmesh");
  auto* colour = command->add_option("--color", options->colour, "auto, always or never")
                     ->check(CLI::IsMember({"auto", "always", "never"}));
  command
      ->add_flag_callback(
          "--no-color", [options] { options->colour = "never"; }, "The same as --color never")
      ->excludes(colour);
  command->callback([options, &exit_code] { exit_code = run_check(*options); });
}

}  // namespace pawl::cli
