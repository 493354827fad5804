// The graphs this process can run, by name and version. Any thread may call it.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "core/graph.h"
#include "core/job_state.h"
#include "pawl/result.h"

namespace pawl::runtime {

using core::Graph;

class GraphCatalog {
 public:
  // Graphs that this process must refuse, whatever their content. Set once, before the first use.
  using Check = std::function<Status(const Graph&)>;
  void admit_if(Check check) { check_ = std::move(check); }
  Status check(const Graph& graph) const { return check_ ? check_(graph) : Status{}; }

  // Other content under the same name and version is refused: running jobs keep the content they started on.
  Status add(Graph graph);
  // New jobs of the app's graphs start on this version.
  void prefer(const std::string& app, std::uint32_t version);
  // The preferred version of a name's app, if it is known here.
  std::shared_ptr<const Graph> preferred(const GraphName& name) const;
  // The version of a name that new jobs start on; if none is preferred, the one with the largest number.
  std::shared_ptr<const Graph> newest(const GraphName& name) const;
  // Every version of a name, oldest first.
  std::vector<std::shared_ptr<const Graph>> versions(const GraphName& name) const;
  // Every graph of an app that is here, all versions.
  std::vector<std::shared_ptr<const Graph>> of_app(const std::string& app) const;
  // Whether some version of this graph, or of any if it has no name, has an activity of that name; the error names
  // those that there are.
  Status check_activity(const GraphName& graph, const std::string& activity) const;
  bool any_of(const std::function<bool(const Graph&)>& is_it) const;
  // Where missing graphs may come from, such as a store that keeps them. Set once, before the first use.
  using Source = std::function<std::vector<Graph>(const core::GraphRef&)>;
  void fetch_from(Source source) { source_ = std::move(source); }

  // The graph of a job; none when this process does not have exactly that content and cannot get it.
  std::shared_ptr<const Graph> find(const core::GraphRef& ref) const;

 private:
  std::shared_ptr<const Graph> known(const core::GraphRef& ref) const;

  Check check_;
  Source source_;
  mutable std::mutex mutex_;
  mutable std::map<std::pair<std::string, std::uint32_t>, std::shared_ptr<const Graph>> graphs_;  // guarded by mutex_
  // by app; guarded by mutex_
  std::map<std::string, std::uint32_t, std::less<>> preferred_;
};

core::GraphRef ref_of(const Graph& graph);
std::string app_of(const GraphName& graph);

}  // namespace pawl::runtime
