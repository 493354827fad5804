// DuplexWriter: the writes of `collation: duplex`, inside the transaction that the writer opened. The group only shares
// a sync: each operation is independent, and needs no more than single statements on a server.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/clock.h"
#include "store/duplex_operation.h"
#include "store/sqlite/applied.h"
#include "store/sqlite/duplex_rows.h"
#include "store/sqlite/job_writer.h"

namespace pawl::store::sqlite {

using DuplexApplied = AppliedAs<DuplexOutcome>;

class DuplexWriter {
 public:
  // The references must outlive it.
  DuplexWriter(const Clock& clock, JobWriter& jobs) : clock_(clock), jobs_(jobs) {}
  Status prepare(Connection& connection) { return sql_.prepare(connection); }

  DuplexApplied apply(const DuplexOperation& operation);

 private:
  DuplexApplied run(const StartDuplex& start);
  DuplexApplied run(const SetCell& set);
  DuplexApplied run(const AddToCell& add);
  DuplexApplied run(const NameCloser& name);
  DuplexApplied run(const OpenAddress& open);
  DuplexApplied run(const CloseAddress& close);
  DuplexApplied run(const Enqueue& enqueue);
  DuplexApplied run(const Dequeue& dequeue);
  DuplexApplied run(const Ack& ack);
  DuplexApplied run(const GiveBack& back);
  DuplexApplied run(const EndDuplex& end);
  DuplexApplied run(const ParkDuplex& park);

  // A refusal unless the job exists; on success job_ holds its row.
  DuplexApplied read_job(RunId run);
  DuplexApplied take_job(RunId run);  // the same, and the job must be running
  DuplexApplied not_running() const;
  DuplexApplied count_addresses(RunId run, bool changed, std::int64_t by);
  int put_message(const StreamMessage& message);
  int park_job(RunId run, std::string_view reason);  // a result code of SQLite, as the next ones

  // duplex_dequeue.cc
  int free_what_is_due(const Dequeue& dequeue, Instant now, bool& changed);
  int read_claimed(const Dequeue& dequeue, Handed& handed);
  int claim_free(const Dequeue& dequeue, Instant now, bool& changed);
  int find_next(const Dequeue& dequeue, Instant now, Handed& handed);

  const Clock& clock_;
  JobWriter& jobs_;  // both collations share its ids
  DuplexStatements sql_;
  struct {  // of the current operation
    core::JobStatus status = core::JobStatus::running;
    std::int64_t open = 0;  // addresses
    std::string id;
  } job_;
};

}  // namespace pawl::store::sqlite
