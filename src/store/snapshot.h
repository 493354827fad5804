// The compound primitive of step 2, under this name in every store. The protocol calls it `setStatusAndCollateGuid`.
//
//   step_semaphore_and_snapshot(delta, threshold, message, weight) -> hit
//
// 1. It adds the delta to the job's semaphore.
// 2. It decides whether the stored value now equals the threshold, which may be any integer; hit is 1 or 0.
// 3. It adds hit * weight to the ledger of the message that made the step.
// 4. It answers the hit. All of this is one commit with the rest of the bundle.
// The core made the same decision from its memory, to know what follows; the store checks it. When the two differ, the
// whole bundle is refused with the reason. A closing without a hit (an uncaught error, an interrupt) is decided by the
// core alone: its ledger is stored as it is in the bundle.
#pragma once

#include <cstdint>
#include <string>

#include "base/format.h"
#include "core/bundle.h"
#include "pawl/result.h"

namespace pawl::store {

// The digit "closed the job" of a message ledger: position 4 of 15, the protocol's 100B.
inline constexpr std::int64_t snapshot_weight = 100'000'000'000;

// The message whose ledger gets the digit if the step hits; null: none (no step, no hit, or no message to record it).
inline Result<const core::PutRecord*> snapshot_of(const core::Bundle& bundle) {
  const auto* head = std::get_if<core::JobHead>(&bundle.head);
  const core::PutRecord* found = nullptr;
  if (head == nullptr || !head->semaphore || !head->semaphore->hit) return found;
  for (const core::Write& write : bundle.writes) {
    const auto* put = std::get_if<core::PutRecord>(&write);
    if (put == nullptr || !put->after.ledger.job_closed() || (put->before && put->before->job_closed())) continue;
    if (found != nullptr)
      return Error{ErrorCode::corrupt,
                   format("messages {} and {} both closed the job", found->after.guid.text(), put->after.guid.text())};
    found = put;
  }
  return found;
}
// The ledger from the bundle, without the digit.
inline std::int64_t without_snapshot(const core::PutRecord& record) {
  return static_cast<std::int64_t>(record.after.ledger.encode()) - snapshot_weight;
}

inline std::string other_hit(const core::SemaphoreStep& step, bool hit) {
  return format("semaphore {} + {} {} the threshold {}, the bundle says otherwise", step.before, step.delta,
                hit ? "hits" : "misses", step.threshold);
}

}  // namespace pawl::store
