// Applies each operation on the desk: the same rules as in every store, over rows that were read before.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "store/operation.h"
#include "store/postgres/desk.h"

namespace pawl::store::postgres {

// REQUIRES: is_for_desk(operation), the rows that it wants are read, and it need not wait (wants.h).
Outcome apply(Desk& desk, const Operation& operation);

// The outcome of sending a message or of starting a job.
struct Sent {
  OutcomeKind kind = OutcomeKind::committed;
  std::string reason;
  RunId run{0};  // the run whose inbox it was for; for a job start: the run that has the id
  RunId replaced{0};

  bool done() const { return kind == OutcomeKind::committed || kind == OutcomeKind::already_done; }
};

// sends.cc. Puts a message directly into its inbox. A removed or closed run accepts nothing. The first message creates
// a mailbox, a start message creates a child.
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
