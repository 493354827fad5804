// InboxWriter: owns the messages that wait for a job or a mailbox, and their timers.
//
// A job's first step is usually in the group of its submit and consumes the start message. So that message is written
// only when something else needs the inbox, or at the end of the group: mostly never.
#pragma once

#include <optional>

#include "core/bundle.h"
#include "store/sqlite/applied.h"
#include "store/sqlite/connection.h"
#include "store/sqlite/transaction.h"

namespace pawl::store::sqlite {

class InboxWriter {
 public:
  // The reference must outlive it.
  explicit InboxWriter(const Transaction& transaction) : transaction_(transaction) {}
  Status prepare(Connection& connection);

  void forget() { late_.reset(); }  // what is known from a transaction that is gone
  int store_late();                 // before the end of a group; a result code of SQLite

  // The message that starts a new run.
  Applied put_start(RunId run, core::Message message);
  // A timer or, if due at once, an ordinary message. `already_done`: it already waits, and stays as it is.
  Applied put(RunId run, const core::Message& message, Instant due = {});
  Checked waits(RunId run, const core::Guid& guid);

  Applied apply(RunId run, const core::PutMessage& write);
  Applied apply(RunId run, const core::CountRedelivery& write);
  Applied apply(RunId run, const core::Consume& write);
  Applied sweep(RunId run, const std::optional<core::Guid>& keep);

 private:
  struct Late {
    RunId run{0};
    core::Message message;
  };
  Applied write(RunId run, const core::Message& message, Instant due);

  const Transaction& transaction_;
  std::optional<Late> late_;  // not written yet
  Statement put_message_, count_redelivery_, consume_, read_redeliveries_, sweep_inbox_;
  Statement put_timer_, count_timer_, consume_timer_, sweep_timers_;
};

}  // namespace pawl::store::sqlite
