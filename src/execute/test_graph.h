// For tests that run graphs: a builder's graph, as the engine runs it.
#pragma once

#include "execute/assemble.h"
#include "graph/check.h"
#include "graph/report.h"

namespace pawl::execute {

// REQUIRES: an app of one graph.
inline Result<Graph> graph_of(const AppText& app) {
  const graph::Checked checked = graph::check_text(app.text);
  if (checked.app == nullptr) return Error{ErrorCode::invalid, graph::mistakes_by_key(checked)};
  auto graphs = assemble(checked.app, app.text);
  if (!graphs) return graphs.error();
  return std::move(graphs->front());
}
inline Result<Graph> graph_of(const Result<AppText>& app) {
  if (!app) return app.error();
  return graph_of(*app);
}
inline Result<Graph> graph_of(const GraphBuilder& builder) { return graph_of(builder.build()); }

}  // namespace pawl::execute
