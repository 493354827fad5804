// A job's secret: 128 bits that are drawn when it is submitted, stored with it and shown to nobody. A piece of work is
// named by it, and what outsiders are given of that work (an idempotency key, a token for each run) follows from the
// name one way. So none of them can be computed from another, and a store that was put back to an older copy gives
// no job the names of one that ran in between (docs/decisions/018).
#pragma once

#include "base/siphash.h"
#include "core/guid.h"
#include "core/ids.h"
#include "pawl/strong.h"

namespace pawl::core {

using JobSecret = Strong<struct JobSecretTag, Guid>;  // all zero: of a job from before there were secrets

// Part of stored identity: never renumber.
enum class SecretUse : std::uint64_t { request = 1, child = 2, child_name = 3, key = 4, token = 5 };

constexpr Guid keyed(const Guid& key, SecretUse use, const Guid& about) {
  const Bits128 made =
      SipHash({key.high, key.low}).add(static_cast<std::uint64_t>(use)).add(about.high).add(about.low).finish();
  return Guid{made.high, made.low};
}

constexpr bool is_set(const JobSecret& secret) { return secret.raw() != Guid{}; }

// The name of the work that the message `cause` asks for. The same job and message give the same name, also in a store
// that was put back to an older copy: it is the same work.
inline Guid work_request(const JobSecret& secret, const Guid& cause) {
  if (!is_set(secret)) return cause.derive(Guid::Purpose::request, 0);
  return keyed(secret.raw(), SecretUse::request, cause);
}

// Of a child: it follows from its parent's and the request, so a start that is repeated makes the same child.
constexpr JobSecret child_secret(const JobSecret& parent, const Guid& request) {
  return JobSecret(keyed(parent.raw(), SecretUse::child, request));
}

// What follows from a piece of work. Its name is the key: whoever knows one of these knows nothing of the others.
constexpr Guid key_of_work(const Guid& request) { return keyed(request, SecretUse::key, Guid{}); }
// Of its nth run: whoever was given an earlier one is stale. A local claim's owner may give its run back, and the
// number is used again: under the epoch of whoever claims it then, so that the token is another one. It fits a signed
// integer and is never 0.
constexpr WorkToken token_of(const Guid& request, std::uint32_t run, Epoch epoch = Epoch(0)) {
  return WorkToken((keyed(request, SecretUse::token, Guid{epoch.raw(), run}).high >> 1) | 1);
}

}  // namespace pawl::core
