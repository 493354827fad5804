// Desk: the rows that a group of operations is about, as they were read and as they will be written.
//
// A group goes over it in three steps: all operations say what they need (wants.h), it is read and locked at once; each
// is applied in memory, in order, as if the ones before it had been written (operations.h); then all that changed is
// written, one statement for each table and kind of change. Whether an operation can be applied is known before
// anything is written.
//
// Rows are locked in one order by everybody, so that no two groups wait for each other: lanes, their numbers, jobs,
// mailboxes, counts of outboxes; each by its key. What belongs to a job or a mailbox is changed by whoever holds its
// row.
//
// A group of plain bundles and submits (wants.h) trusts the bundles: nothing of their jobs and lanes is read, the
// statements compare what is stored with what the bundles were made from. The lanes are guarded first, then comes the
// step of the jobs, for it locks them. A bundle that was wrong undoes the transaction, and the group is applied again
// without trust.
#pragma once

#include <optional>

#include "store/postgres/activity_rows.h"
#include "store/postgres/connection.h"
#include "store/postgres/inbox_rows.h"
#include "store/postgres/job_rows.h"
#include "store/postgres/key_rows.h"
#include "store/postgres/label_rows.h"
#include "store/postgres/lane_rows.h"
#include "store/postgres/mailbox_rows.h"
#include "store/postgres/outbox_rows.h"
#include "store/postgres/signal_id_rows.h"
#include "store/postgres/work_rows.h"

namespace pawl::store::postgres {

struct Desk {
  LaneRows lanes;
  KeyRows keys;
  JobRows jobs;
  MailboxRows mailboxes;
  ActivityRows activities;
  WorkRows work;
  InboxRows inbox;
  OutboxRows outbox;
  SignalIdRows signal_ids;
  LabelRows labels;
  bool keys_first = false;  // who has them must be known before their rows are locked
  bool sends_directly = true;
  bool trusts = false;
  bool is_betrayed = false;          // trust does not reach so far: the group is applied again without it
  Instant now;                       // by the server's clock, once the locks are held
  Connection* connection = nullptr;  // for what is asked in rare cases only
  std::optional<Failure> failure{};  // of such a question

  void forget();
  void write(Script& script) const;
};

}  // namespace pawl::store::postgres
