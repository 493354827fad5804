// pawl graph FILE: the graphs of an app as text, SVG or Mermaid. Exit codes as pawl check.
#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <cstdio>
#include <fstream>
#include <memory>
#include <string>

#include "base/utf8.h"
#include "cli/commands.h"
#include "graph/check.h"
#include "graph/draw/draw.h"
#include "graph/report.h"

namespace pawl::cli {
namespace {

struct Options {
  std::string file;
  std::string format = "text";
  std::string output;
  std::string topic;
  bool hotmesh = false;
};

int write(const Options& options, const std::string& picture) {
  if (options.output.empty()) {
    fmt::print("{}", printable(picture));
    return 0;
  }
  std::ofstream stream(options.output, std::ios::binary);
  stream << picture;
  stream.flush();
  if (stream) return 0;
  fmt::print(stderr, "{} cannot be written\n", options.output);
  return 2;
}

int run(const Options& options) {
  const auto checked = graph::check_file(options.file, {.force_hotmesh = options.hotmesh});
  if (!checked.app) {
    fmt::print(stderr, "{}", graph::report_text(checked, graph::Colours::off));
    return checked.could_read ? 1 : 2;
  }
  graph::Graphs graphs;
  for (const graph::Graph& candidate : checked.app->graphs)
    if (options.topic.empty() || candidate.subscribes == options.topic) graphs.push_back(&candidate);
  if (graphs.empty()) {
    fmt::print(stderr, "no graph of {} subscribes to {}\n", options.file, options.topic);
    return 2;
  }
  if (options.format == "svg") return write(options, graph::draw_svg(graphs));
  if (options.format == "mermaid") return write(options, graph::draw_mermaid(graphs));
  return write(options, graph::draw_text(graphs));
}

}  // namespace

void add_graph(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<Options>();  // shared: the callback outlives this function
  auto* command = app.add_subcommand("graph", "Draw the graphs of an app");
  command->add_option("file", options->file, "The app's main file")->required();
  command->add_option("--format", options->format, "text, svg or mermaid")
      ->check(CLI::IsMember({"text", "svg", "mermaid"}));
  command->add_option("-o,--output", options->output, "Write to this file instead of the terminal");
  command->add_option("--graph", options->topic, "Only the graph that subscribes to this topic");
  command->add_flag("--compat-hotmesh", options->hotmesh, "As if the file said compat: hotmesh");
  command->callback([options, &exit_code] { exit_code = run(*options); });
}

}  // namespace pawl::cli
