// Desk: the rows that a group of operations reads and writes, before and after the changes.
//
// A group takes three steps. First all operations report which rows they need (wants.h), and these are read and locked
// at once. Then each operation is applied in memory, in order, as if the earlier ones had been written (operations.h).
// Last, all changes are written with one statement for each table and kind of change. So the outcome of every operation
// is known before anything is written.
//
// All groups lock rows in the same order, so that no two groups wait for each other: lanes, their numbers, jobs,
// mailboxes, counts of outboxes; each by its key. Only the transaction that locks the row of a job or a mailbox may
// change what belongs to it.
//
// A group of plain bundles and submits (wants.h) trusts the bundles: it does not read their jobs and lanes, and its
// statements compare the stored rows with the state that the bundles were made from. The lanes are guarded first, then
// the jobs' steps follow, because they lock the jobs. A bundle that was wrong rolls the transaction back, and the group
// is applied again without trust. Submits to lanes whose next numbers are known (known_numbers.h) are trusted too. The
// same comparison finds out that the lane has another owner, that another process numbered there, or that the id is
// taken.
#pragma once

#include <map>
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
  bool keys_first = false;  // the runs that have the keys must be known before rows are locked
  bool sends_directly = true;
  bool trusts = false;
  // Lanes of this process that jobs are submitted to, with their next numbers. Their rows are not read.
  struct KnownLane {
    core::Epoch epoch;
    LaneNumbers numbers;
  };
  std::map<core::LaneId, KnownLane> known_lanes;
  bool is_betrayed = false;          // trust is not possible here: the group is applied again without it
  Instant now;                       // by the server's clock, once the locks are held
  Connection* connection = nullptr;  // for rare extra queries
  std::optional<Failure> failure{};  // of such a query

  void forget();
  void write(Script& script) const;
};

}  // namespace pawl::store::postgres
