#include "core/retry.h"

#include <algorithm>
#include <cmath>

#include "base/random.h"

namespace pawl::core {

Duration delay_after(const Retry& retry, std::uint32_t failures, std::uint64_t salt) {
  const auto longest = static_cast<double>(retry.longest_delay().count());
  const double grown = static_cast<double>(retry.first_delay().count()) *
                       std::pow(retry.growth(), static_cast<double>(failures > 0 ? failures - 1 : 0));
  const double delay = std::min(grown, longest);  // also cuts an infinite power
  const double share = static_cast<double>(Random::mix(salt + failures) >> 11) / 9007199254740992.0;  // 2^53: [0, 1)
  return Duration(static_cast<std::int64_t>(delay * (1.0 - retry.jitter() * share)));
}

bool is_retryable(const Policy& policy, ReplyStatus status, std::int32_t code) {
  const auto& never_on = policy.retry.never_on();
  return policy.retries && status != ReplyStatus::fatal &&
         std::find(never_on.begin(), never_on.end(), code) == never_on.end();
}

std::optional<Instant> next_try(const Retry& rule, const Tried& tried, std::uint32_t redrives, Instant now) {
  // One attempt means no repeat, also after a redrive, which grants the same number of repeats: none.
  if (rule.attempts() == 1 && rule.when_exhausted() == WhenExhausted::fail) return std::nullopt;
  if (tried.failures >= std::uint64_t{rule.attempts()} * (redrives + 1)) return std::nullopt;
  // Each round of attempts begins with the first delay again.
  const Instant at = now + delay_after(rule, (tried.failures - 1) % rule.attempts() + 1, tried.request.low);
  if (rule.within().count() != 0 && redrives == 0 && at > tried.opened_at + rule.within()) return std::nullopt;
  if (tried.deadline != Instant() && at >= tried.deadline) return std::nullopt;
  return at;
}

}  // namespace pawl::core
