// What a new run takes over from one that has ended (core/carried.h).
#pragma once

#include <string>
#include <vector>

#include "core/carried.h"
#include "core/graph.h"
#include "core/job_state.h"

namespace pawl::runtime {

using core::Graph;

// Of work that is asked for again: the run that goes on for a failed one asks for the same work, under its name, so a
// worker that acted already knows it by its key. A new job does the work anew.
enum class WorkNames : std::uint8_t { kept, fresh };

// Every answer that was taken, but those that failed the job and those that were undone. `from`: nor those of this
// activity and of what follows it in the graph. unsupported: something of it cannot be taken over, and the error says
// what.
Result<std::vector<core::Carried>> carried_from(const core::JobState& state, const Graph& graph, WorkNames names,
                                                const std::string& from = "");

}  // namespace pawl::runtime
