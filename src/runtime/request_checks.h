// Whether a caller's request can be accepted at all. Each error names the field.
#pragma once

#include <string_view>

#include "core/graph.h"
#include "pawl/payload.h"
#include "pawl/result.h"
#include "pawl/time.h"
#include "runtime/job_request.h"
#include "store/operation.h"

namespace pawl::runtime {

enum class Zero : std::uint8_t { allowed, refused };

Status check_duration(std::string_view what, Duration value, Zero zero);
Status check_payload(std::string_view what, const Payload& payload);
Status check_input(std::string_view what, const Payload& input);  // of a start
Status check_reason(std::string_view reason);
Status check_request(const JobRequest& request);
store::Reuse store_reuse(IdReuse reuse);
// The input with what else the job is started with: the trace of its caller. Collation duplex has no place for that.
Payload input_to_submit(JobRequest& request, const core::Graph* graph);
Error no_job(RunId run);

}  // namespace pawl::runtime
