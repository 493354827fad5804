// From the core's state to what the public API shows.
#pragma once

#include <functional>

#include "core/bundle.h"
#include "core/job_state.h"
#include "pawl/graph.h"
#include "pawl/job.h"
#include "pawl/runtime.h"

namespace pawl::runtime {

core::JobStatus core_status(JobStatus status);
JobView view_of(const core::JobRow& job);
// `graph` may be null when this process does not have it: names are then the nodes' numbers.
JobDetail detail_of(const core::JobState& state, const Graph* graph);
// The events that a committed bundle means, in order.
void for_each_event(const core::JobState& after, const core::Bundle& bundle, const Graph& graph, Instant now,
                    const std::function<void(const Event&)>& tell);

}  // namespace pawl::runtime
