// How the scenarios' graphs are written down. Internal to scenarios*.cc.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/invariant.h"
#include "execute/test_graph.h"
#include "sim/scenario.h"

namespace pawl::sim {

// A topic is "graph.activity", so behaviours are set per node.
class Builder {
 public:
  explicit Builder(std::string graph) : graph_(graph), builder_(graph) { builder_.trigger("t"); }
  Builder& worker(const std::string& name, const std::string& after, Condition when = Condition::always()) {
    builder_.worker(name, graph_ + "." + name).after(after, std::move(when));
    return *this;
  }
  // For the worker named last, as the next three.
  Builder& retry(const Retry& policy) { return builder_.retry(policy), *this; }
  Builder& timeouts(const Timeouts& limits) { return builder_.timeouts(limits), *this; }
  Builder& at_most_once(WhenUnknown then) { return builder_.at_most_once(then), *this; }
  Builder& result_of(const std::string& name) { return builder_.result_of(name), *this; }
  void deploy(runtime::GraphCatalog& catalog) {
    auto graph = execute::graph_of(builder_);
    invariant(graph.ok(), "a scenario's graph is valid");
    invariant(catalog.add(std::move(*graph)).ok(), "a scenario's graph is new");
  }

 private:
  std::string graph_;
  GraphBuilder builder_;
};

inline WantedJob job(std::string id, std::string graph, std::uint32_t submits = 1, std::string name_space = "default") {
  return {.name_space = std::move(name_space), .id = std::move(id), .graph = std::move(graph), .submits = submits};
}

// scenarios_life.cc: attempts, times, unknown effects, and requests on a job.
void deploy_life(runtime::GraphCatalog& catalog);
void add_life_behaviours(std::map<std::string, Behaviour>& all);
void add_life_scenarios(const Scenario& base, std::vector<Scenario>& all);

// scenarios_graphs.cc: jobs of the graph language, and what they send each other. Their apps: scenario_apps.cc.
void deploy_apps(runtime::GraphCatalog& catalog);
void add_graph_behaviours(std::map<std::string, Behaviour>& all);
void add_graph_scenarios(const Scenario& base, std::vector<Scenario>& all);

// scenarios_transactions.cc: workers whose own writes are committed with their replies.
void deploy_transactions(runtime::GraphCatalog& catalog);
void add_transaction_behaviours(std::map<std::string, Behaviour>& all);
void add_transaction_scenarios(const Scenario& base, std::vector<Scenario>& all);

}  // namespace pawl::sim
