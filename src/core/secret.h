// A job's secret: 128 random bits, drawn when the job is submitted, stored with it and never shown. The name of a piece
// of work is derived from it, and what outsiders receive of that work (an idempotency key, a token for each attempt) is
// a one-way function of that name. So none of them can be computed from another, and after a store was restored from a
// backup no job gets the names of a job that ran in between (docs/decisions/018).
#pragma once

#include "base/siphash.h"
#include "core/guid.h"
#include "core/ids.h"
#include "pawl/strong.h"

namespace pawl::core {

using JobSecret = Strong<struct JobSecretTag, Guid>;  // all zero: the job was created before secrets existed

// Part of stored identity: never renumber.
enum class SecretUse : std::uint64_t { request = 1, child = 2, child_name = 3, key = 4, token = 5 };

constexpr Guid keyed(const Guid& key, SecretUse use, const Guid& about) {
  const Bits128 made =
      SipHash({key.high, key.low}).add(static_cast<std::uint64_t>(use)).add(about.high).add(about.low).finish();
  return Guid{made.high, made.low};
}

constexpr bool is_set(const JobSecret& secret) { return secret.raw() != Guid{}; }

// The name of the work that the message `cause` asks for. The same job and message give the same name, also in a store
// that was restored from a backup: it is the same work.
inline Guid work_request(const JobSecret& secret, const Guid& cause) {
  if (!is_set(secret)) return cause.derive(Guid::Purpose::request, 0);
  return keyed(secret.raw(), SecretUse::request, cause);
}

// A child's secret is derived from its parent's and the request, so a repeated start makes the same child.
constexpr JobSecret child_secret(const JobSecret& parent, const Guid& request) {
  return JobSecret(keyed(parent.raw(), SecretUse::child, request));
}

// Derived from the name of a piece of work, which is the hash key: none of these values reveals another.
constexpr Guid key_of_work(const Guid& request) { return keyed(request, SecretUse::key, Guid{}); }
// The token of the nth attempt; tokens of earlier attempts are stale. The owner of a local claim may give its attempt
// back, and the number is used again: then the claim's epoch differs, so the token differs too. It fits a signed
// integer and is never 0.
constexpr WorkToken token_of(const Guid& request, std::uint32_t run, Epoch epoch = Epoch(0)) {
  return WorkToken((keyed(request, SecretUse::token, Guid{epoch.raw(), run}).high >> 1) | 1);
}

}  // namespace pawl::core
