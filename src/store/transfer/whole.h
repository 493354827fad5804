// What every store can read, as records: whole jobs, whole mailboxes, announcements. The store's own reads check the
// rows.
#pragma once

#include <cstdint>
#include <span>

#include "store/store.h"
#include "store/transfer/site.h"

namespace pawl::store::transfer {

struct JobToRead {
  RunId run{0};
  bool duplex = false;
};
// The job's row, its activities, message ledgers, inbox and timers. REQUIRES: the jobs exist.
Status read_jobs(Store& store, std::span<const JobToRead> jobs, const See& see);

struct MailboxToRead {
  RunId run{0};
  std::uint64_t signals = 0, signal_bytes = 0;
};
Status read_mailbox(Store& store, const MailboxToRead& mailbox, const See& see);

Status read_announcements(Store& store, core::LaneId lane, const See& see);

}  // namespace pawl::store::transfer
