// What a person who runs a graph must know of its app: which graph a topic starts, and which topics it needs workers
// for.
#pragma once

#include <set>
#include <string>

#include "graph/model.h"
#include "pawl/result.h"

namespace pawl::cli {

// The graph that subscribes to `topic`; without a topic the only one, or the first that is not private.
Result<const graph::Graph*> choose_graph(const graph::App& app, const std::string& topic);

// Whether the trigger derives the job's id from the input: then the same input finds the job again.
bool names_its_jobs(const graph::Graph& graph);

struct WorkTopics {
  std::set<std::string> topics;
  bool computed = false;  // some are expressions: there may be others
};
// Of the workers of this graph and of the graphs that it may start.
WorkTopics work_topics(const graph::App& app, const graph::Graph& graph);

}  // namespace pawl::cli
