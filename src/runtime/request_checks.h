// Whether a caller's request can be accepted at all. Each error names the field.
#pragma once

#include <string_view>

#include "pawl/payload.h"
#include "pawl/result.h"
#include "pawl/time.h"
#include "runtime/job_request.h"

namespace pawl::runtime {

enum class Zero : std::uint8_t { allowed, refused };

Status check_duration(std::string_view what, Duration value, Zero zero);
Status check_payload(std::string_view what, const Payload& payload);
Status check_reason(std::string_view reason);
Status check_request(const JobRequest& request);
Error no_job(RunId run);

}  // namespace pawl::runtime
