// The collation key of a job: a digit for every activity of its graph.
#pragma once

#include "core/job_state.h"
#include "ledger/collation_key.h"
#include "pawl/graph.h"
#include "pawl/result.h"

namespace pawl::runtime {

// REQUIRES: the job is pinned to `graph`.
Result<ledger::CollationKey> collation_key_of(const core::JobState& state, const Graph& graph);

}  // namespace pawl::runtime
