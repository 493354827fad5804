#include "store/postgres/own_lanes.h"

namespace pawl::store::postgres {

void OwnLanes::learn(std::span<const Operation> group, std::span<const Outcome> outcomes) {
  const std::lock_guard lock(mutex_);
  for (std::size_t i = 0; i < group.size(); ++i) {
    const Domain domain = domain_of(group[i]);
    if (domain.kind != Domain::Kind::lane) continue;
    const bool acquired = std::holds_alternative<AcquireLane>(group[i]) && outcomes[i].kind == OutcomeKind::committed;
    const bool released = std::holds_alternative<ReleaseLane>(group[i]) && outcomes[i].done();
    if (acquired) lanes_.insert_or_assign(domain.lane, outcomes[i].epoch());
    if (released || outcomes[i].kind == OutcomeKind::fenced) lanes_.erase(domain.lane);
  }
}

std::optional<core::Epoch> OwnLanes::epoch_of(core::LaneId lane) const {
  const std::lock_guard lock(mutex_);
  const auto known = lanes_.find(lane);
  return known == lanes_.end() ? std::nullopt : std::optional(known->second);
}

Change OwnLanes::told_to_others(std::span<const Operation> group, std::span<const Outcome> outcomes,
                                const Guards& guards) const {
  const std::lock_guard lock(mutex_);
  const auto holds = [&](core::LaneId lane) {
    const auto known = lanes_.find(lane);
    return known != lanes_.end() && guards(lane, known->second);
  };
  Change told;
  for (std::size_t i = 0; i < group.size(); ++i) {
    Change change = changed_by(group.subspan(i, 1), outcomes.subspan(i, 1));
    if (change.empty()) continue;
    const Domain domain = domain_of(group[i]);
    const bool is_own = domain.kind == Domain::Kind::lane && holds(domain.lane);
    std::erase_if(change.runs, [&](RunId run) { return holds(core::lane_of(run)); });
    // For an operation in an own lane, others are notified only of the runs that it reached and of a released lane.
    if (is_own) {
      Change reached;
      reached.runs = std::move(change.runs);
      reached.inboxes = change.inboxes;
      reached.lanes = change.lanes;
      change = std::move(reached);
    }
    told.add(change);
  }
  return told;
}

}  // namespace pawl::store::postgres
