// What each operation does on the desk: the same rules as in every store, over rows that are at hand.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "store/operation.h"
#include "store/postgres/desk.h"

namespace pawl::store::postgres {

// REQUIRES: is_for_desk(operation), what it wants is there, and it need not wait (wants.h).
Outcome apply(Desk& desk, const Operation& operation);

// What became of a message, or of a job that was to begin.
struct Sent {
  OutcomeKind kind = OutcomeKind::committed;
  std::string reason;
  RunId run{0};  // whose inbox it was for; of a job that was to begin: who has the id
  RunId replaced{0};

  bool done() const { return kind == OutcomeKind::committed || kind == OutcomeKind::already_done; }
};

// sends.cc. A message straight into its inbox. A run that is gone or closed takes nothing; a mailbox is made by its
// first message, a child by its start.
Sent send(Desk& desk, const core::Envelope& envelope, core::LaneId lane);
Sent send_to_job(Desk& desk, RunId run, const core::Message& message);
void put_into_outbox(Desk& desk, core::LaneId from, const core::Envelope& envelope, core::LaneId to);
Sent begin_job(Desk& desk, const Submit& submit, const std::optional<core::ParentLink>& parent);
Outcome apply(Desk& desk, const Submit& submit);
Outcome apply(Desk& desk, const Deliver& deliver);
Outcome apply(Desk& desk, const DropOutbox& drop);
Outcome apply(Desk& desk, const RemoveJob& remove);

// bundles.cc
Outcome apply(Desk& desk, const core::Bundle& bundle);

// work_operations.cc
Outcome apply(Desk& desk, const DeliverReply& delivery);
Outcome apply(Desk& desk, const ClaimItem& claim);
Outcome apply(Desk& desk, const ExtendWork& extend);
Outcome apply(Desk& desk, const ReleaseWork& release);

// lane_operations.cc
Outcome apply(Desk& desk, const AcquireLane& acquire);
Outcome apply(Desk& desk, const RenewLane& renew);
Outcome apply(Desk& desk, const ReleaseLane& release);

}  // namespace pawl::store::postgres
