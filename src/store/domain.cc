#include "store/domain.h"

#include "base/invariant.h"

namespace pawl::store {

namespace {

Domain in_lane(core::LaneId lane) { return {Domain::Kind::lane, lane}; }
Domain of_run(RunId run) { return in_lane(core::lane_of(run)); }
Domain in_one_or_all(core::LaneId lane) {
  return lane == core::LaneId(0) ? Domain{Domain::Kind::all_lanes, lane} : in_lane(lane);
}

}  // namespace

Domain domain_of(const Operation& operation) {
  return std::visit(Overloaded{
                        [](const core::Bundle& o) { return of_run(o.entity); },
                        [](const Submit& o) { return in_lane(o.lane); },
                        [](const Deliver& o) { return in_lane(core::lane_of(o.envelope.to, o.lane)); },
                        [](const DeliverReply& o) { return of_run(o.run); },
                        [](const ClaimWork& o) { return in_one_or_all(o.lane); },
                        [](const ClaimItem& o) { return of_run(o.run); },
                        [](const ExtendWork& o) { return of_run(o.run); },
                        [](const ReleaseWork& o) { return of_run(o.run); },
                        [](const DropOutbox& o) { return in_lane(o.lane); },
                        [](const OpenPool&) { return Domain{}; },
                        [](const AcquireLane& o) { return in_lane(o.lane); },
                        [](const RenewLane& o) { return in_lane(o.lane); },
                        [](const ReleaseLane& o) { return in_lane(o.lane); },
                        [](const BeatEngine&) { return Domain{}; },
                        [](const LeaveEngine&) { return Domain{}; },
                        [](const RemoveJob& o) { return of_run(o.run); },
                        [](const DropKeys& o) { return in_one_or_all(o.lane); },
                        [](const PauseTopic& o) { return in_one_or_all(o.lane); },
                        [](const PutApp&) { return Domain{}; },
                        [](const ActivateApp&) { return Domain{}; },
                    },
                    operation);
}

}  // namespace pawl::store
