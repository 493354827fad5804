// The graphs this process can run, by name and version. Any thread may call it.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "core/job_state.h"
#include "pawl/graph.h"
#include "pawl/result.h"

namespace pawl::runtime {

class GraphCatalog {
 public:
  // Another content under the same name and version is refused: running jobs are pinned to what they have.
  Status add(Graph graph);
  // The newest version of a name, for new jobs.
  std::shared_ptr<const Graph> newest(const GraphName& name) const;
  // Every version of a name, oldest first.
  std::vector<std::shared_ptr<const Graph>> versions(const GraphName& name) const;
  // The graph a job is pinned to; none when this process does not have exactly that content.
  std::shared_ptr<const Graph> find(const core::GraphRef& ref) const;

 private:
  mutable std::mutex mutex_;
  std::map<std::pair<std::string, std::uint32_t>, std::shared_ptr<const Graph>> graphs_;  // guarded by mutex_
};

core::GraphRef ref_of(const Graph& graph);

}  // namespace pawl::runtime
