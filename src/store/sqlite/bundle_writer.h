// BundleWriter: owns the order of the writes of one bundle, and the checks before the first write.
#pragma once

#include "core/bundle.h"
#include "store/sqlite/activity_writer.h"
#include "store/sqlite/applied.h"
#include "store/sqlite/at_hand.h"
#include "store/sqlite/inbox_writer.h"
#include "store/sqlite/job_writer.h"
#include "store/sqlite/label_writer.h"
#include "store/sqlite/lane_writer.h"
#include "store/sqlite/mailbox_writer.h"
#include "store/sqlite/outbox_writer.h"
#include "store/sqlite/transaction.h"
#include "store/sqlite/pack_writer.h"
#include "store/sqlite/work_writer.h"

namespace pawl::store::sqlite {

class BundleWriter {
 public:
  struct Parts {
    const Transaction& transaction;
    LaneWriter& lanes;
    InboxWriter& inbox;
    JobWriter& jobs;
    WorkWriter& work;
    ActivityWriter& activities;
    MailboxWriter& mailboxes;
    OutboxWriter& outbox;
    LabelWriter& labels;
    PackWriter& packs;
  };
  // What `parts` refers to must outlive it.
  explicit BundleWriter(const Parts& parts) : parts_(parts) {}

  Applied apply(const core::Bundle& bundle);

 private:
  Applied step_semaphore_and_snapshot(AtHand& at, const core::JobHead& head);
  Applied refused_step(const core::Bundle& bundle, const core::JobHead& head);
  Applied step(const core::Bundle& bundle, const core::MailboxHead& head);
  Applied missing_entity(const core::Bundle& bundle);
  Applied apply_writes(AtHand& at, Applied head);
  Applied apply_in_order(const AtHand& at, Outcome& outcome);
  Applied apply_write(const AtHand& at, const core::Write& write);

  const Parts parts_;
};

}  // namespace pawl::store::sqlite
