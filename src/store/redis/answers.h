// Short names for the outcomes that need no request to the server.
#pragma once

#include <string>
#include <utility>

#include "base/format.h"
#include "store/operation.h"

namespace pawl::store::redis {

inline Outcome outcome_of(OutcomeKind kind, std::string reason = {}) {
  Outcome outcome;
  outcome.kind = kind;
  outcome.reason = std::move(reason);
  return outcome;
}
inline Outcome committed() { return outcome_of(OutcomeKind::committed); }
inline Outcome already_done() { return outcome_of(OutcomeKind::already_done); }
inline Outcome rejected(std::string why) { return outcome_of(OutcomeKind::rejected, std::move(why)); }
inline Outcome fenced() { return outcome_of(OutcomeKind::fenced, "the lane has another owner"); }
inline Outcome stale_item(core::ActivitySeq activity) {
  return outcome_of(OutcomeKind::conflict, format("work item {} is no longer held by this token", activity.raw()));
}

}  // namespace pawl::store::redis
