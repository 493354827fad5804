// What an open activity waits for, in the form of the public API.
#pragma once

#include <optional>

#include "core/graph.h"
#include "core/job_state.h"
#include "pawl/view.h"

namespace pawl::runtime {

using core::Graph;

// None: it waits for nothing, or it has ended. `graph` may be null.
std::optional<WaitView> wait_of(const core::JobState& state, const core::Activity& activity, const Graph* graph);

}  // namespace pawl::runtime
