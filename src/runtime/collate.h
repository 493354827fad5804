// The collation key of a job: a digit for every activity of its graph.
#pragma once

#include <functional>
#include <optional>

#include "core/graph.h"
#include "core/job_state.h"
#include "ledger/collation_key.h"
#include "pawl/result.h"

namespace pawl::runtime {

using core::Graph;

// The key of the job that an await's instance started; none: it started none, or that job is gone.
using Awaited = std::function<std::optional<ledger::CollationKey>(const core::Activity&)>;

// REQUIRES: the job uses `graph`. Without `awaited` it has only this job's digits.
Result<ledger::CollationKey> collation_key_of(const core::JobState& state, const Graph& graph,
                                              const Awaited& awaited = {});

}  // namespace pawl::runtime
