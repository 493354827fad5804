// Restores: the store is put back to a copy of an earlier commit, all engines are dead, and jobs are submitted that the
// copy does not contain. The oracle: an idempotency key or a token never names two different pieces of work, whatever
// was lost in between. Work of a job that the copy contains is the same work, and keeps its key.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/decide.h"
#include "sim/scenario.h"
#include "sim/verdict.h"

namespace pawl::sim {

struct RestoreReport {
  std::optional<Violation> violation;
  std::uint64_t commits = 0;   // of the first history, before anything was put back
  std::uint64_t works = 0;     // pieces of work that a worker was given, in all histories
  std::uint64_t repeated = 0;  // of these, under a key that was given before: the same work
};

// Runs the scenario's jobs to their end, puts the store back to its state after commit `copy_at` (0: before the first
// job), and runs the same jobs once more, as other submits. All of it `histories` times.
RestoreReport restore_at(const Scenario& scenario, core::Fusion fusion, std::uint64_t copy_at,
                         std::uint32_t histories = 3);

// The scenarios for restores.
const std::vector<std::string>& restore_scenarios();

}  // namespace pawl::sim
