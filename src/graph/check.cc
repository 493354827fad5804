#include "graph/check.h"

#include <filesystem>
#include <utility>

#include "graph/check/structure.h"
#include "graph/read/read.h"
#include "graph/refs.h"

namespace pawl::graph {

namespace {

// Under compat a value of the wrong type is only a warning; but without these parts there is nothing to run.
void check_skeleton(const App& app, Mistakes& mistakes) {
  const auto missing = [&](const Where& where, std::string message) {
    mistakes.add({.code = Code::missing_key,
                  .mark = where.mark,
                  .path = where.path,
                  .message = std::move(message),
                  .suggestion = {}});
  };
  const Where top{{0, 1, 1}, "app"};
  if (app.id.empty()) missing(top, "the app has no usable id");
  if (app.version.empty()) missing(top, "the app has no usable version");
  if (app.graphs.empty()) missing(top, "the app has no usable graph");
  for (const Graph& graph : app.graphs) {
    if (graph.subscribes.empty()) missing(graph.where, "the graph has no usable topic");
    if (graph.activities.empty()) missing(graph.where, "the graph has no usable activities");
  }
}

}  // namespace

Checked check(const Loader& loader, std::string_view main_file, const CheckOptions& options) {
  Checked out;
  Mistakes mistakes;
  std::optional<App> app;
  if (const auto document = load_document(loader, main_file, out.sources, mistakes)) {
    app = read_app(*document, {.force_hotmesh = options.force_hotmesh}, mistakes);
    if (app) {
      for (Graph& graph : app->graphs) {
        // Without activities there is nothing to check; the reader reported it.
        if (graph.activities.empty() || !check_structure(graph, mistakes)) continue;
        check_maps(graph, mistakes);
        settle_undos(graph);
        check_joins(graph, mistakes);
        check_cycles(graph, mistakes);
        check_references(graph, mistakes);
        if (app->enforces_schemas()) check_schema_fields(graph, mistakes);
      }
      check_topics(*app, mistakes);
      if (!mistakes.has_errors()) check_skeleton(*app, mistakes);
    }
  }
  if (app && !mistakes.has_errors()) out.app = std::make_shared<const App>(std::move(*app));
  out.left_out = mistakes.left_out();
  out.mistakes = mistakes.take_sorted();
  for (const Mistake& mistake : out.mistakes)
    if (mistake.code == Code::cannot_read) out.could_read = false;
  return out;
}

Checked check_file(const std::string& path, const CheckOptions& options) {
  const std::filesystem::path file(path);
  return check(FolderLoader(file.parent_path().string()), file.filename().string(), options);
}

Checked check_text(std::string text, const CheckOptions& options) {
  return check(MemoryLoader({{"app.yaml", std::move(text)}}), "app.yaml", options);
}

}  // namespace pawl::graph
