// A signal to one job: the mailboxes where its hooks wait for it, now or later.
#pragma once

#include <vector>

#include "core/graph.h"
#include "core/job_state.h"
#include "core/message.h"
#include "pawl/payload.h"
#include "pawl/result.h"

namespace pawl::runtime {

// not_found: no hook of the job's graph takes the topic; invalid: the data matches the schema of none of them;
// retry_later: the values that the hook will match depend on steps that the job has not done yet.
Result<std::vector<core::MailboxKey>> mailboxes_of(const core::JobState& state, const core::Graph& graph,
                                                   const Topic& topic, const Payload& data, Instant now);

}  // namespace pawl::runtime
