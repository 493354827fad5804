// JobWriter: owns the rows of jobs and the ids that started them: starts a job, and applies each bundle to its row.
#pragma once

#include <optional>

#include "base/clock.h"
#include "core/bundle.h"
#include "store/operation.h"
#include "store/sqlite/applied.h"
#include "store/sqlite/at_hand.h"
#include "store/sqlite/connection.h"
#include "store/sqlite/inbox_writer.h"
#include "store/sqlite/lane_writer.h"
#include "store/sqlite/payload_limits.h"
#include "store/sqlite/start_keys.h"

namespace pawl::store::sqlite {

class JobWriter {
 public:
  // The references must outlive it.
  JobWriter(const Clock& clock, LaneWriter& lanes, InboxWriter& inbox) : clock_(clock), lanes_(lanes), inbox_(inbox) {}
  Status prepare(Connection& connection);
  void forget() { keys_.forget(); }
  int before_removal() { return keys_.look(); }  // of an id: a result code of SQLite

  Applied apply(const Submit& submit) { return begin(submit, std::nullopt); }
  // `exists`: with the run that has the id.
  Applied begin(const Submit& submit, const std::optional<core::ParentLink>& parent);
  // Numbers a run and takes an unused id for it; both collations share the ids. `exists`: with the run that has the id.
  Applied take_id(const Namespace& name_space, const JobId& id, core::LaneId lane);
  // Whether this same message created the run.
  Checked made_by(RunId run, const core::StartChild& start);

  // A run that is gone or closed takes nothing.
  Applied deliver(RunId run, const core::Message& message);
  Applied deliver(const core::JobKey& key, const core::Message& message);

  // The first write of a bundle, and the first half of step_semaphore_and_snapshot (store/snapshot.h): adds the delta
  // and decides `hit` from the stored value. Done, but not `wrote`: a guard did not hold. Then the reason comes from
  // check_rev() of its row, the tokens of its work items, or contradiction(), in this order, because a race is not a
  // mistake.
  Applied step_semaphore(const core::Bundle& bundle, const core::JobHead& head, bool& hit);
  EntityRow read_row(RunId run);
  Applied contradiction(const core::Bundle& bundle, const core::JobHead& head);

  void limit(const PayloadLimits& limits) { limits_ = limits; }

 private:
  Applied make(const Submit& submit, const std::optional<core::ParentLink>& parent, RunId run,
               const StartKeys::Key& held);

  const Clock& clock_;
  LaneWriter& lanes_;
  InboxWriter& inbox_;
  PayloadLimits limits_;
  StartKeys keys_;
  Statement step_job_, share_data_, put_job_, forgive_rest_, read_guard_;
  Statement put_new_job_, read_status_, read_parent_;
};

}  // namespace pawl::store::sqlite
