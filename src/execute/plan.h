// Computed once, when an app is deployed: which values every expression reads and where in a job they are found, so
// that a step parses only those and looks up no name.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/message.h"
#include "graph/model.h"

namespace pawl::execute {

// The parts of an activity that references name; a set of them is a sum.
enum Section : std::uint8_t {
  input_data = 1,
  input_metadata = 2,
  output_data = 4,
  output_metadata = 8,
  hook_data = 16,
  hook_metadata = 32,
};

// The way from the place of an expression to an ancestor.
struct Route {
  graph::ActivityIndex target = 0;
  // How many parts of the address both share.
  std::uint32_t shared = 1;
  // From there down to the target, itself included. Empty: the target is on the path, in the plane that the address
  // names.
  std::vector<graph::ActivityIndex> down;
  // The target is a map seen from outside its body: the map's output, not that of an item.
  bool is_outside = false;
};

struct Read {
  Route route;
  std::uint8_t sections = 0;
};

struct Reads {
  std::vector<Read> ancestors;
  std::uint8_t self = 0;
  bool job_data = false;
  bool job_metadata = false;
};

struct GraphPlan {
  const graph::Graph* graph = nullptr;
  core::GraphRef ref;
  // By the address of the formula, which the app does not move. Formulas over a signal's payload are not here.
  std::unordered_map<const graph::Formula*, Reads> reads;

  const graph::Activity& activity(graph::ActivityIndex index) const { return graph->activities[index]; }
  const graph::Place& place(graph::ActivityIndex index) const { return graph->topology.places[index]; }
};

// Hooks of one topic whose `actual` sides are the same: a signal finds all of them under one key.
struct HookRule {
  std::uint64_t hash = 0;  // of the sources
  std::vector<const graph::Formula*> actual;
  std::vector<graph::SchemaPointer> payloads;  // of the hooks that have one
  bool takes_any = false;                      // a hook of this rule has no schema
};

// Shared by the programs of one app: an await names another graph, a signal another graph's hooks.
struct AppPlan {
  std::shared_ptr<const graph::App> app;  // owns what the plans point into
  std::vector<GraphPlan> graphs;
  std::unordered_map<std::string, std::uint32_t> graph_of_topic;
  std::unordered_map<std::string, std::vector<HookRule>> rules_of_topic;

  bool enforces_schemas() const { return app->enforces_schemas(); }
};

// The refs of `graphs` are left to the caller.
std::shared_ptr<AppPlan> make_plan(std::shared_ptr<const graph::App> app);

std::uint64_t hash_of(const std::vector<graph::HookMatch>& matches);

}  // namespace pawl::execute
