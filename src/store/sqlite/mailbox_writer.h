// MailboxWriter: owns mailboxes: the signals and registrations that wait in them, and their count and size.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/bundle.h"
#include "store/operation.h"
#include "store/sqlite/applied.h"
#include "store/sqlite/at_hand.h"
#include "store/sqlite/connection.h"
#include "store/sqlite/inbox_writer.h"
#include "store/sqlite/lane_writer.h"

namespace pawl::store::sqlite {

class MailboxWriter {
 public:
  // The references must outlive it.
  MailboxWriter(LaneWriter& lanes, InboxWriter& inbox) : lanes_(lanes), inbox_(inbox) {}
  Status prepare(Connection& connection);

  // Creates the mailbox if this is its first message.
  Applied deliver(const core::MailboxKey& key, const core::Message& message, core::LaneId lane);

  // already_done, with the mailbox if it still exists.
  Applied told_before(const core::MailboxKey& key);

  EntityRow read_row(RunId run);
  // The first write of a bundle. REQUIRES: `row` is the mailbox's, and check_rev() found it as expected.
  Applied step(const core::Bundle& bundle, const core::MailboxHead& head, const EntityRow& row);
  Applied apply(RunId run, const core::PutEntry& write);
  Applied apply(RunId run, const core::DropEntry& write);
  Applied apply(RunId run, const core::OfferEntry& write);
  Applied drop_if_empty(RunId run);

 private:
  struct Load {
    std::size_t signals = 0;
    std::size_t bytes = 0;
  };
  Applied find_or_make(const core::MailboxKey& key, core::LaneId lane, Load& load);

  LaneWriter& lanes_;
  InboxWriter& inbox_;
  Statement drop_empty_mailbox_, step_mailbox_, read_mailbox_guard_, find_mailbox_, new_mailbox_;
  Statement put_entry_, drop_entry_, offer_entry_, add_signal_, drop_signal_;
};

}  // namespace pawl::store::sqlite
