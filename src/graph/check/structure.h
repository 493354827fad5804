// The checks after reading. Each adds its mistakes and continues; together they fill Graph::topology.
#pragma once

#include "graph/mistake.h"
#include "graph/model.h"

namespace pawl::graph {

// Triggers, transitions, reachability, parents, loops; fills topology except the maps. False when the graph has no
// trigger to start from: then nothing else can be checked.
bool check_structure(Graph& graph, Mistakes& mistakes);

// An undo activity is placed below the one it undoes, although no transition leads there; part of check_structure.
void place_undos(Graph& graph, Mistakes& mistakes);
// Puts undo activities into the map of what they undo; needs check_maps.
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

// True when `inside` is in the body of `map`, at any depth.
bool is_inside(const Graph& graph, ActivityIndex inside, ActivityIndex map);

}  // namespace pawl::graph
