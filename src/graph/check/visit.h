// All formulas of a graph, each with the role that decides what it may refer to.
#pragma once

#include <functional>

#include "graph/model.h"

namespace pawl::graph {

enum class Role : std::uint8_t {
  before,   // evaluated before the activity runs: its own output is not there yet
  after,    // evaluated when the activity has an output
  collect,  // at the end of a map's item: sees the body
  payload,  // over a signal's payload only
};

using VisitFormula = std::function<void(const Formula&, Role)>;
void visit_formulas(const Activity& activity, const VisitFormula& visit);
void visit_formulas(const Transition& transition, const VisitFormula& visit);

}  // namespace pawl::graph
