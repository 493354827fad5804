// Whether failed work is attempted again, and when. Pure arithmetic over a policy.
#pragma once

#include <cstdint>
#include <optional>

#include "core/job_state.h"
#include "pawl/policy.h"

namespace pawl::core {

// The pause before the attempt that follows `failures` failed ones. `salt` spreads the jitter: the same request waits
// the same time in every replay, but two requests that failed together do not come back together.
Duration delay_after(const Retry& retry, std::uint32_t failures, std::uint64_t salt);

// Whether this error may be retried at all, independent of the number of attempts.
bool is_retryable(const Policy& policy, ReplyStatus status, std::int32_t code);

// What was tried: a worker's request, or a child.
struct Tried {
  Guid request;
  std::uint32_t failures = 0;  // including the current one
  Instant opened_at;
  Instant deadline;  // of all attempts together; 0: none
};

// When the next attempt begins by this rule, which belongs to the last failure's code; none: the attempts are used up.
// A redrive grants all of them once more; then the time limit of the first round (Retry::within) no longer counts.
std::optional<Instant> next_try(const Retry& rule, const Tried& tried, std::uint32_t redrives, Instant now);

}  // namespace pawl::core
