// What keeps a job from continuing by itself, as text for people (JobDetail::obstacles).
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "core/graph.h"
#include "pawl/ids.h"
#include "pawl/result.h"
#include "pawl/time.h"
#include "store/job_store.h"

namespace pawl::runtime {

using core::Graph;

// What this process knows.
struct Surroundings {
  const Graph* graph = nullptr;  // the job's; null: not known here
  bool runs = false;             // it runs jobs, and does not only read
  Instant now;
  std::function<bool(const Topic&)> serves;
  std::function<Result<std::vector<std::string>>()> paused_topics;  // called only if work waits
};

// For a job under collation duplex, only whether its graph is known.
std::vector<std::string> obstacles_of(const core::JobRow& job, const Graph* graph, std::size_t messages);
std::vector<std::string> obstacles_of(const store::StoredJob& stored, const Surroundings& here);

}  // namespace pawl::runtime
