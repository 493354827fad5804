// InboxWriter: owns the messages that wait for a job or a mailbox, and their timers.
#pragma once

#include "core/bundle.h"
#include "store/sqlite/applied.h"
#include "store/sqlite/connection.h"

namespace pawl::store::sqlite {

class InboxWriter {
 public:
  Status prepare(Connection& connection);

  // A timer or, if due at once, an ordinary message. `already_done`: it already waits, and stays as it is.
  Applied put(RunId run, const core::Message& message, Instant due = {});
  Checked waits(RunId run, const core::Guid& guid);

  Applied apply(RunId run, const core::PutMessage& write);
  Applied apply(RunId run, const core::CountRedelivery& write);
  Applied apply(RunId run, const core::Consume& write);
  Applied sweep(RunId run, const std::optional<core::Guid>& keep);

 private:
  Statement put_message_, count_redelivery_, consume_, read_redeliveries_, sweep_inbox_;
  Statement put_timer_, count_timer_, consume_timer_, sweep_timers_;
};

}  // namespace pawl::store::sqlite
