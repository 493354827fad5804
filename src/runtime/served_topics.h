// ServedTopics: how each topic is served here. A topic has one way: its replies come alone, or with the worker's
// writes. Graphs under collation duplex take no replies of the second kind. Any thread may call it.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <string>

#include "core/graph.h"
#include "pawl/result.h"
#include "runtime/graph_catalog.h"

namespace pawl::runtime {

using core::Graph;

class ServedTopics {
 public:
  enum class Way : std::uint8_t { plain, transaction };

  Status serve(const std::string& topic, Way way, const GraphCatalog& graphs);
  bool serves(const std::string& topic) const;
  Status admits(const Graph& graph) const;  // whether the graph can run with the ways its topics are served

 private:
  bool is_for_transactions(const std::string& topic) const;

  mutable std::mutex mutex_;
  std::map<std::string, Way> ways_;  // guarded by mutex_
};

}  // namespace pawl::runtime
