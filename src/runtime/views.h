// From the core's state to the views of the public API.
#pragma once

#include "core/graph.h"
#include "core/guid.h"
#include "core/job_state.h"
#include "pawl/view.h"
#include "store/store.h"

namespace pawl::runtime {

using core::Graph;

core::JobStatus core_status(JobStatus status);
JobStatus public_status(core::JobStatus status);
JobView view_of(const core::JobRow& job);
// `graph` may be null when this process does not have it: then nodes are named by their numbers. `store` is part of the
// tokens that are shown.
JobDetail detail_of(const core::JobState& state, const Graph* graph, const core::Guid& store);
// Adds what its inbox and its timers show.
void add_waiting(JobDetail& detail, const store::StoredJob& stored, const Graph* graph);
ActivityName name_in(const Graph* graph, std::uint32_t node);
// What is kept of an answer, in a form for people.
Payload shown_in(const Graph* graph, std::uint32_t node, const Payload& kept);
Effect effect_of(const core::JobState& state, const core::Activity& activity);

}  // namespace pawl::runtime
