// Short names for the outcomes that the operations answer with.
#pragma once

#include <string>
#include <utility>

#include "base/format.h"
#include "store/operation.h"

namespace pawl::store::memory {

inline Outcome answer(OutcomeKind kind, std::string reason = {}) {
  Outcome outcome;
  outcome.kind = kind;
  outcome.reason = std::move(reason);
  return outcome;
}
inline Outcome committed() { return answer(OutcomeKind::committed); }
inline Outcome already_done() { return answer(OutcomeKind::already_done); }
inline Outcome conflict(std::string why) { return answer(OutcomeKind::conflict, std::move(why)); }
inline Outcome fenced() { return answer(OutcomeKind::fenced, "the lane has another owner"); }
inline Outcome stale_item(core::ActivitySeq activity) {
  return conflict(format("work item {} is no longer held by this token", activity.raw()));
}
inline Outcome rejected(std::string why) { return answer(OutcomeKind::rejected, std::move(why)); }

}  // namespace pawl::store::memory
