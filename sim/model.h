// The model: how a job must end, computed from its graph and the behaviours alone, without any code
// of the engine. And the canonical form: the same text made from what the store holds, so that both
// can be compared.
//
// The canonical form leaves out what faults may change without being wrong: leg-1 attempts, run
// ids, guids, the order in which planes were taken, and which message happened to close the job.
#pragma once

#include <string>

#include "pawl/graph.h"
#include "sim/scenario.h"
#include "sim/verdict.h"
#include "store/memory/dump.h"

namespace pawl::sim {

struct Expected {
  bool fails = false;     // some error in it is caught by no edge
  std::string canonical;  // of a job that completes
};

Payload input_of(const WantedJob& job);
Expected expect(const Scenario& scenario, const WantedJob& job);

// What `job` came to. Contradictions within it go to `verdict`.
std::string canonical_of(const store::memory::DumpedJob& job, const Graph& graph, Verdict& verdict);

}  // namespace pawl::sim
