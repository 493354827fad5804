#include "serve/picture.h"

#include "base/format.h"
#include "graph/check.h"
#include "graph/draw/draw.h"
#include "graph/loader.h"

namespace pawl::serve {

Result<Response> draw_app(detail::RuntimeBackend& backend, const AppName& app, const std::string& topic,
                          const std::string& form) {
  const auto found = backend.app(app);
  if (!found) return found.error();
  const auto checked =
      graph::check(graph::MemoryLoader({found->files.begin(), found->files.end()}), found->files.front().first);
  if (!checked.app)
    return Error{ErrorCode::unsupported,
                 format("app {} was deployed by another version of Pawl and cannot be read here", app.app)};
  graph::Graphs graphs;
  for (const graph::Graph& candidate : checked.app->graphs)
    if (topic.empty() || candidate.subscribes == topic) graphs.push_back(&candidate);
  if (graphs.empty()) return Error{ErrorCode::not_found, format("no graph of app {} subscribes to {}", app.app, topic)};
  if (form == "svg") return Response{200, "image/svg+xml", graph::draw_svg(graphs)};
  if (form == "mermaid") return Response{200, "text/plain; charset=utf-8", graph::draw_mermaid(graphs)};
  if (form == "text") return Response{200, "text/plain; charset=utf-8", graph::draw_text(graphs)};
  return Error{ErrorCode::invalid, "format: it is svg, mermaid or text"};
}

}  // namespace pawl::serve
