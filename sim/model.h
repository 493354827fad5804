// The model: how a job must end, computed from its graph, its policies, the behaviours and the requests on it, without
// any code of the engine. And the canonical form: the same text made from what the store holds, so that both can be
// compared.
//
// The canonical form leaves out what faults may change without being wrong: leg-1 attempts, run ids, guids, times,
// attempts of work, the order in which planes were taken, and which message closed the job.
#pragma once

#include <string>

#include "core/graph.h"
#include "sim/scenario.h"
#include "sim/verdict.h"
#include "store/memory/dump.h"

namespace pawl::sim {

using core::Graph;

struct Expected {
  enum class End : std::uint8_t { completed, failed, parked, never };
  End end = End::completed;    // without interference
  bool interruptible = false;  // the scenario may interrupt it: then it may end in that way instead
  std::string canonical;       // of a job that completes
  std::uint32_t redrives = 0;  // of a job that ends without interference
  std::uint64_t runs = 0;      // attempts of activities, without any fault
  bool runs_known = true;      // false: even then it depends on a race
};

Payload input_of(const WantedJob& job);
Expected expect(const Scenario& scenario, const WantedJob& job);

// What became of `job`. Contradictions within it go to `verdict`.
std::string canonical_of(const store::memory::DumpedJob& job, const Graph& graph, Verdict& verdict);

// Of jobs of the graph language: the difference from the end that its scenario states; empty: none.
std::string graph_job_problem(const store::memory::DumpedJob& job, const Graph& graph, const JobEnd& end);
std::string canonical_of_graph_job(const store::memory::DumpedJob& job, const Graph& graph);

}  // namespace pawl::sim
