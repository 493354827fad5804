// Apps: versions of apps in the graph language, kept in the store and compiled here when they are needed. Any thread
// may call it.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/message.h"
#include "graph/model.h"
#include "pawl/graph.h"
#include "pawl/query.h"
#include "runtime/graph_catalog.h"
#include "runtime/job_request.h"
#include "store/store.h"

namespace pawl::runtime {

class Apps {
 public:
  using Commit = std::function<Result<store::Outcome>(store::Operation)>;
  // The references must outlive it.
  Apps(store::Store& store, GraphCatalog& graphs, Commit commit);

  Result<AppVersion> deploy(const AppSource& source, const DeployOptions& options);
  Status activate(const std::string& app, const std::string& version);
  Result<AppFiles> files(const std::string& app, const std::string& version) const;
  Result<std::vector<AppVersion>> list() const;
  // Loads the graphs that a filter refers to by the names of their activities.
  Status fetch_for(const JobFilter& filter) const;
  // The graph that subscribes to a topic, in any version.
  Result<GraphName> graph_of(const std::string& topic) const;

  // The graph that a job of `request.graph`, a graph's name or a topic, starts on. Completes the request: graph, id and
  // checked input.
  Result<core::GraphRef> prepare(JobRequest& request) const;
  // The mailboxes where hooks of the topic would wait for this signal, in any version that jobs may use.
  Result<std::vector<std::string>> mailboxes_for(const std::string& topic, const Payload& data) const;

 private:
  Result<std::vector<Graph>> read(const std::string& app, const std::string& version) const;
  // Keeps it under its version; for development, under a separate version if that one has other content.
  Result<std::string> keep(const graph::App& app, const std::string& body, bool development);
  // The graph that a name or a topic means.
  Result<std::shared_ptr<const Graph>> started_by(const std::string& asked) const;
  // The same graph as HotMesh reads it: kept beside the version, and not active.
  Result<std::shared_ptr<const Graph>> as_hotmesh(std::shared_ptr<const Graph> graph) const;
  // All graphs of a version, from the catalog once they are loaded.
  Result<std::vector<std::shared_ptr<const Graph>>> graphs_of(const store::AppInfo& app) const;

  store::Store& store_;
  GraphCatalog& graphs_;
  const Commit commit_;
};

}  // namespace pawl::runtime
