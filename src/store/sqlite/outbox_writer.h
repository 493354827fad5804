// OutboxWriter: owns what entities send each other: a bundle's sends, deliveries between lanes, and the number of the
// last row that each lane took from each other lane.
//
// One file has all lanes, so sends go straight into the target's inbox. If configured, they go through rows of the
// sender's lane, numbered for each target, as in stores that cannot send directly.
#pragma once

#include <cstdint>
#include <optional>

#include "base/clock.h"
#include "core/bundle.h"
#include "store/operation.h"
#include "store/sqlite/applied.h"
#include "store/sqlite/connection.h"
#include "store/sqlite/job_writer.h"
#include "store/sqlite/lane_writer.h"
#include "store/sqlite/mailbox_writer.h"
#include "store/sqlite/signal_id_writer.h"

namespace pawl::store::sqlite {

class OutboxWriter {
 public:
  // The references must outlive it.
  OutboxWriter(const Clock& clock, LaneWriter& lanes, JobWriter& jobs, MailboxWriter& mailboxes,
               SignalIdWriter& signal_ids)
      : clock_(clock), lanes_(lanes), jobs_(jobs), mailboxes_(mailboxes), signal_ids_(signal_ids) {}
  Status prepare(Connection& connection);
  void send_by_outbox() { sends_directly_ = false; }
  bool sends_directly() const { return sends_directly_; }

  Applied apply(const Deliver& deliver);
  Applied apply(const DropOutbox& drop);
  Applied apply(const core::Bundle& bundle, const core::Send& write);

 private:
  struct LastRow {
    std::uint64_t seq = 0;
    std::optional<Applied> failed{};
  };
  LastRow last_taken(core::LaneId target, core::LaneId source);
  LastRow last_put(core::LaneId source, core::LaneId target);
  std::optional<Applied> refuse_unless_there(core::LaneId lane);
  std::optional<Applied> refuse_unless_next(const Deliver::Source& source, core::LaneId target);
  Applied put_row(core::LaneId from, const core::Envelope& envelope, core::LaneId to);
  Applied send(const core::Envelope& envelope, core::LaneId lane);
  Applied send_once(const core::Envelope& signal, core::LaneId lane);
  Applied start_child(const core::JobKey& key, const core::StartChild& start, core::LaneId lane);
  Applied refuse_child(const core::Envelope& refusal, core::LaneId lane);

  const Clock& clock_;
  LaneWriter& lanes_;
  JobWriter& jobs_;
  MailboxWriter& mailboxes_;
  SignalIdWriter& signal_ids_;
  bool sends_directly_ = true;
  Statement read_taken_, put_taken_, read_route_, count_row_, put_row_, find_row_, drop_rows_, note_dropped_;
};

}  // namespace pawl::store::sqlite
