// Short names for the outcomes that operations return.
#pragma once

#include <string>
#include <utility>

#include "base/format.h"
#include "store/operation.h"

namespace pawl::store::postgres {

inline Outcome outcome_of(OutcomeKind kind, std::string reason = {}) {
  Outcome outcome;
  outcome.kind = kind;
  outcome.reason = std::move(reason);
  return outcome;
}
inline Outcome committed() { return outcome_of(OutcomeKind::committed); }
inline Outcome already_done() { return outcome_of(OutcomeKind::already_done); }
inline Outcome conflict(std::string why) { return outcome_of(OutcomeKind::conflict, std::move(why)); }
inline Outcome rejected(std::string why) { return outcome_of(OutcomeKind::rejected, std::move(why)); }
inline Outcome fenced() { return outcome_of(OutcomeKind::fenced, "the lane has another owner"); }
inline Outcome stale_item(core::ActivitySeq activity) {
  return conflict(format("work item {} is no longer held by this token", activity.raw()));
}
inline Outcome damaged_item(RunId run, core::ActivitySeq activity) {
  return rejected(format("run {}: work item {} is malformed", run.raw(), activity.raw()));
}
inline std::string no_lane(core::LaneId lane) { return format("there is no lane {}", lane.raw()); }

}  // namespace pawl::store::postgres
