// pawl graph FILE, pawl graph --app APP: the graphs of an app, from a file or a store, as text, SVG or Mermaid. Exit
// codes as pawl check.
#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <cstdio>
#include <fstream>
#include <memory>
#include <string>

#include "base/utf8.h"
#include "cli/commands.h"
#include "cli/job_target.h"
#include "graph/check.h"
#include "graph/draw/draw.h"
#include "graph/report.h"

namespace pawl::cli {
namespace {

struct GraphArguments {
  StoreOptions store;
  std::string file;
  std::string app;
  std::string format = "text";
  std::string output;
  std::string topic;
  bool hotmesh = false;
};

int write_picture(const GraphArguments& options, const std::string& picture) {
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

// "order" or "order@2".
Result<graph::Checked> stored_app(const GraphArguments& options) {
  auto runtime = open_existing(options.store);
  if (!runtime) return runtime.error();
  const std::size_t at = options.app.find('@');
  const auto found =
      runtime->app({options.app.substr(0, at), at == std::string::npos ? "" : options.app.substr(at + 1)});
  if (!found) return found.error();
  return graph::check(graph::MemoryLoader({found->files.begin(), found->files.end()}), found->files.front().first);
}

int run_graph(const GraphArguments& options) {
  if (options.file.empty() == options.app.empty()) {
    fmt::print(stderr, "pawl graph: name a file, or an app of the store with --app\n");
    return 2;
  }
  auto stored = options.app.empty() ? Result<graph::Checked>(graph::Checked{}) : stored_app(options);
  if (!stored) return fail("graph", stored.error());
  const auto checked =
      options.app.empty() ? graph::check_file(options.file, {.force_hotmesh = options.hotmesh}) : std::move(*stored);
  if (!checked.app) {
    fmt::print(stderr, "{}", graph::report_text(checked, graph::Colours::off));
    return checked.could_read ? 1 : 2;
  }
  graph::Graphs graphs;
  for (const graph::Graph& candidate : checked.app->graphs)
    if (options.topic.empty() || candidate.subscribes == options.topic) graphs.push_back(&candidate);
  if (graphs.empty()) {
    fmt::print(stderr, "no graph of {}{} subscribes to {}\n", options.file, options.app, options.topic);
    return 2;
  }
  if (options.format == "svg") return write_picture(options, graph::draw_svg(graphs));
  if (options.format == "mermaid") return write_picture(options, graph::draw_mermaid(graphs));
  return write_picture(options, graph::draw_text(graphs));
}

}  // namespace

void add_graph(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<GraphArguments>();  // shared: the callback outlives this function
  auto* command = app.add_subcommand("graph", "Draw the graphs of an app");
  command->add_option("file", options->file, "The app's main file");
  command->add_option("--app", options->app, "Instead of a file: APP or APP@VERSION of the store");
  command->add_option("--store", options->store.store, "With --app: where it is deployed")
      ->envname("PAWL_STORE")
      ->capture_default_str();
  command->add_flag("--accept-weaker-store", options->store.accept_weaker,
                    "With --app: use a server whose settings may lose what it acknowledged");
  add_url_options(*command, options->store);
  command->add_option("--format", options->format, "text, svg or mermaid")
      ->check(CLI::IsMember({"text", "svg", "mermaid"}));
  command->add_option("-o,--output", options->output, "Write to this file instead of the terminal");
  command->add_option("--graph", options->topic, "Only the graph that subscribes to this topic");
  command->add_flag("--compat-hotmesh", options->hotmesh, "As if the file said compat: hotmesh");
  command->callback([options, &exit_code] { exit_code = run_graph(*options); });
}

}  // namespace pawl::cli
