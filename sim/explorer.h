// The explorer: every interleaving of a few engines over the real core and the real memory store, for one small job,
// with a bounded number of crashes, expired leases, lost answers and repeated replies. It checks every state that can
// be reached, and that the job can still end from every one of them.
//
// An engine is reduced to what matters for the protocol: the epoch that it believes to hold, the job as it last read
// it, the bundle that it has sent, and the attempts of its workers.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/decide.h"
#include "sim/verdict.h"

namespace pawl::sim {

struct ExplorerOptions {
  std::string graph = "chain";  // of the scenarios
  std::uint32_t engines = 2;
  core::Fusion fusion = core::Fusion::on;
  std::uint32_t crashes = 1;
  std::uint32_t expiries = 1;  // of a living owner's lease; a dead owner's lease always ends
  std::uint32_t lost_replies = 1;
  std::uint32_t repeated_answers = 1;
  std::uint64_t states_max = 40'000;  // the exploration stops there and is then not complete
};

struct ExplorerReport {
  std::uint64_t states = 0;
  std::uint64_t transitions = 0;
  bool complete = false;               // all states were visited, and from each the end can be reached
  std::uint64_t ends = 0;              // states in which the job has ended and nothing is left
  std::optional<Violation> violation;  // its detail is the path to it
};

ExplorerReport explore(const ExplorerOptions& options);

// What the tests explore, smallest first.
std::vector<ExplorerOptions> explorations();

}  // namespace pawl::sim
