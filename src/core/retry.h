// Whether failed work is tried again, and when. Pure arithmetic over a policy.
#pragma once

#include <cstdint>
#include <optional>

#include "core/job_state.h"
#include "pawl/policy.h"

namespace pawl::core {

// The pause before the try that follows `failures` failed ones. `salt` spreads the jitter: the same request
// waits the same time in every replay, two requests that failed together do not come back together.
Duration delay_after(const Retry& retry, std::uint32_t failures, std::uint64_t salt);

// Whether this error may be tried again at all, however often it was.
bool is_retryable(const Policy& policy, ReplyStatus status, std::int32_t code);

// What was tried: a worker's request, or a child.
struct Tried {
  Guid request;
  std::uint32_t failures = 0;  // the one at hand is among them
  Instant opened_at;
  Instant deadline;  // of all tries together; 0: none
};

// When the next try begins by this rule, that of the last failure's code; none: the tries have run out. A redrive
// allows all of them once more, and then the time limit of the first round (Retry::within) no longer counts.
std::optional<Instant> next_try(const Retry& rule, const Tried& tried, std::uint32_t redrives, Instant now);

}  // namespace pawl::core
