// Writer: turns a group of operations into one transaction. It owns the parts that write, each with its statements and
// its state, and sends each operation to its part:
//
//   Transaction     the transaction and its result       LaneWriter     pools, lanes and their owners
//   BundleWriter    the order within a bundle            JobWriter      jobs and their ids
//   ActivityWriter  activities and ledgers               WorkWriter     work items and who holds them
//   InboxWriter     waiting messages, and timers         OutboxWriter   what lanes send to each other
//   MailboxWriter   mailboxes                            LabelWriter    labels, measures, announcements
//   RemovalWriter   the removal of jobs                  AppWriter      deployed apps
//   SignalIdWriter  signals that are remembered          DuplexWriter   all writes of collation duplex
//   EngineWriter    engines that share a pool            InputWriter    where inputs are stored
//   PackWriter      compressed payloads of ended jobs    WorkList       which work items wait for a worker
//
// What is read from a row is valid for one transaction and dropped with it. One thread at a time (Store::commit's
// rule).
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/clock.h"
#include "store/operation.h"
#include "store/rules.h"
#include "store/sqlite/activity_writer.h"
#include "store/sqlite/app_writer.h"
#include "store/sqlite/applied.h"
#include "store/sqlite/bundle_writer.h"
#include "store/sqlite/connection.h"
#include "store/sqlite/duplex_writer.h"
#include "store/sqlite/engine_writer.h"
#include "store/sqlite/inbox_writer.h"
#include "store/sqlite/input_writer.h"
#include "store/sqlite/job_writer.h"
#include "store/sqlite/label_writer.h"
#include "store/sqlite/lane_writer.h"
#include "store/sqlite/mailbox_writer.h"
#include "store/sqlite/outbox_writer.h"
#include "store/sqlite/pack_writer.h"
#include "store/sqlite/removal_writer.h"
#include "store/sqlite/signal_id_writer.h"
#include "store/sqlite/transaction.h"
#include "store/sqlite/work_writer.h"

namespace pawl::store::sqlite {

class Writer {
 public:
  // `clock` and `ownership` must outlive it.
  static Result<std::unique_ptr<Writer>> open(std::unique_ptr<Connection> connection, const Clock& clock,
                                              Ownership& ownership);

  Result<std::vector<Outcome>> commit(std::span<const Operation> group);
  Result<std::vector<DuplexOutcome>> commit(std::span<const DuplexOperation> group);

  // A worker's own statements, and one bundle behind them (Transaction::open).
  Status open();
  Result<Outcome> commit_open(const Operation& operation);
  void undo_open() { transaction_.undo_open(); }

  Connection& connection() { return transaction_.connection(); }
  // Bundles send through the outbox, as in stores whose lanes are on different nodes.
  void send_by_outbox() { outbox_.send_by_outbox(); }
  void limit(const PayloadLimits& limits) {
    jobs_.limit(limits);
    inputs_.limit(limits);
  }
  void keep_unlisted(std::int64_t rows_max) { list_.keep_unlisted(rows_max); }
  void limit(const PackLimits& limits) { packs_.limit(limits); }
  bool sends_directly() const { return outbox_.sends_directly(); }
  std::int64_t row_writes() const { return transaction_.row_writes(); }
  std::int64_t last_commit() const { return transaction_.number(); }  // its number, after a successful commit
  // The result code of a failed sync: then the process must end.
  int sync_failure() const { return transaction_.sync_failure(); }
  // Whether the last group failed for lack of room on the disk.
  bool disk_full() const { return transaction_.disk_full(); }
  // Sets or clears the mark that tells the database file alone from the file with its log (checkpointer.h). A result
  // code of SQLite.
  int mark_home(bool on);

 private:
  Writer(std::unique_ptr<Connection> connection, const Clock& clock, Ownership& ownership)
      : clock_(clock), transaction_(std::move(connection), clock), lanes_(ownership) {}
  Status prepare();

  // The same frame for the operations of both collations.
  template <class Answer, class Any, class Apply>
  Result<std::vector<Answer>> commit_group(std::span<const Any> group, const Apply& apply);
  void forget();
  int finish();
  Applied apply(const Operation& operation);
  Applied apply_any(const Operation& operation);
  Applied acquire(const AcquireLane& acquire);

  const Clock& clock_;
  FirstSteps first_steps_;
  // Each may use those above it.
  Transaction transaction_;
  LaneWriter lanes_;
  InboxWriter inbox_{transaction_};
  JobWriter jobs_{clock_, lanes_, inbox_};
  InputWriter inputs_;
  WorkList list_{transaction_};
  WorkWriter work_{clock_, transaction_, lanes_, inbox_, jobs_, inputs_, list_};
  ActivityWriter activities_{transaction_, inputs_, work_, list_};
  MailboxWriter mailboxes_{lanes_, inbox_};
  SignalIdWriter signal_ids_{clock_};
  OutboxWriter outbox_{clock_, lanes_, jobs_, mailboxes_, signal_ids_};
  LabelWriter labels_{lanes_};
  PackWriter packs_;
  BundleWriter bundles_{
      {transaction_, lanes_, inbox_, jobs_, work_, activities_, mailboxes_, outbox_, labels_, packs_}};
  RemovalWriter removal_{inbox_, jobs_, list_};
  AppWriter apps_{clock_};
  EngineWriter engines_{clock_};
  DuplexWriter duplex_{clock_, jobs_};
};

}  // namespace pawl::store::sqlite
