#include "base/invariant.h"
#include "store/postgres/answers.h"
#include "store/postgres/operations.h"

namespace pawl::store::postgres {

Outcome apply(Desk& desk, const AcquireLane& acquire) {
  const LaneRow* known = desk.lanes.find(acquire.lane);
  if (known == nullptr) return rejected(no_lane(acquire.lane));
  if (acquire.owner.empty()) return rejected("an owner needs a name");
  const bool taken = !known->owner.empty() && known->owner != acquire.owner;
  if (taken && (!known->lease_until || *known->lease_until > desk.now))
    return conflict(format("{} holds the lane", known->owner));
  LaneRow row{core::next(known->epoch), acquire.owner, std::nullopt};  // without a lease: held until it is released
  if (acquire.lease.count() != 0) row.lease_until = desk.now + acquire.lease;
  Outcome outcome = committed();
  outcome.answer = answer::Lane{row.epoch, row.lease_until};
  desk.lanes.put(acquire.lane, std::move(row));
  return outcome;
}

Outcome apply(Desk& desk, const RenewLane& renew) {
  if (!desk.lanes.owns(renew.lane, renew.epoch)) return fenced();
  LaneRow row = *desk.lanes.find(renew.lane);
  row.lease_until = desk.now + renew.lease;
  Outcome outcome = committed();
  outcome.answer = answer::Lane{row.epoch, row.lease_until};
  desk.lanes.put(renew.lane, std::move(row));
  return outcome;
}

Outcome apply(Desk& desk, const ReleaseLane& release) {
  const LaneRow* known = desk.lanes.find(release.lane);
  if (known == nullptr || known->epoch != release.epoch) return fenced();
  if (known->owner.empty()) return already_done();
  desk.lanes.put(release.lane, LaneRow{known->epoch, "", std::nullopt});
  return committed();
}

Outcome apply(Desk& desk, const Operation& operation) {
  return std::visit(
      Overloaded{
          each_of<ClaimWork, OpenPool, BeatEngine, LeaveEngine, DropKeys, PauseTopic, PutApp, ActivateApp>(
              []() -> Outcome {
                invariant(false, "an operation that is a statement of its own");
                return {};
              }),
          [&](const auto& one) { return apply(desk, one); },
      },
      operation);
}

}  // namespace pawl::store::postgres
