// From a committed bundle to the events of observers.
#pragma once

#include <functional>

#include "core/bundle.h"
#include "core/graph.h"
#include "core/job_state.h"
#include "pawl/event.h"

namespace pawl::runtime {

using core::Graph;

// The events of a committed bundle, in order.
void for_each_event(const core::JobState& after, const core::Bundle& bundle, const Graph& graph, Instant now,
                    const std::function<void(const Event&)>& tell);

}  // namespace pawl::runtime
