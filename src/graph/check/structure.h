// The checks after reading. Each adds its mistakes and goes on; together they fill Graph::topology.
#pragma once

#include "graph/mistake.h"
#include "graph/model.h"

namespace pawl::graph {

// Triggers, transitions, reachability, parents, loops; fills topology but for the maps. False when
// the graph has no trigger to start from: nothing else can be said about it then.
bool check_structure(Graph& graph, Mistakes& mistakes);

// What undoes an activity stands below it though no transition leads there; part of check_structure.
void place_undos(Graph& graph, Mistakes& mistakes);
// And in the same map; needs check_maps.
void settle_undos(Graph& graph);

// Bodies of maps and their closing joins; needs check_structure.
void check_maps(Graph& graph, Mistakes& mistakes);

// Joins and cycles; needs check_maps.
void check_joins(const Graph& graph, Mistakes& mistakes);
void check_cycles(Graph& graph, Mistakes& mistakes);

// Every {reference}: does it exist, is it an ancestor, can it be seen from there.
void check_references(const Graph& graph, Mistakes& mistakes);

// References to fields that a closed schema does not have.
void check_schema_fields(const Graph& graph, Mistakes& mistakes);

// Topics of await, signal and interrupt against the graphs and hooks of the whole app.
void check_topics(const App& app, Mistakes& mistakes);

// True when `inside` stands in the body of `map`, however deep.
bool is_inside(const Graph& graph, ActivityIndex inside, ActivityIndex map);

}  // namespace pawl::graph
