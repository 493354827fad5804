// DuplexWriter: the single operations of collation duplex, applied one after the other in one transaction, so that they
// share its sync. It first locks the jobs that they name, in the order of their runs.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "store/duplex_operation.h"
#include "store/postgres/bell.h"
#include "store/postgres/connection.h"
#include "store/postgres/server_clock.h"
#include "store/postgres/tail.h"

namespace pawl::store::postgres {

class DuplexWriter {
 public:
  struct Parts {
    ServerClock& clock;
    const Bell& bell;
    Tail& tail;
  };
  // The referenced objects must outlive it.
  DuplexWriter(Connection& connection, const Parts& parts) : connection_(connection), parts_(parts) {}

  Result<std::vector<DuplexOutcome>> commit(std::span<const DuplexOperation> operations);

 private:
  struct Job {
    core::JobStatus status = core::JobStatus::running;
    std::int64_t open = 0;  // addresses
    std::string id;
  };
  // The outcome of an operation, or the reason why the server did not do it.
  struct Applied {
    DuplexOutcome outcome;
    std::optional<Failure> failure{};
  };

  std::optional<Failure> apply_group(std::span<const DuplexOperation> operations, bool& committing);
  std::optional<Failure> begin(std::span<const DuplexOperation> operations);
  Applied apply(const DuplexOperation& operation);
  Applied run(const StartDuplex& start);
  Applied run(const SetCell& set);
  Applied run(const AddToCell& add);
  Applied run(const NameCloser& name);
  Applied run(const OpenAddress& open);
  Applied run(const CloseAddress& close);
  Applied run(const Enqueue& enqueue);
  Applied run(const Ack& ack);
  Applied run(const GiveBack& back);
  Applied run(const EndDuplex& end);
  Applied run(const ParkDuplex& park);
  // duplex_dequeue.cc
  Applied run(const Dequeue& dequeue);
  std::optional<Failure> take_claimed(Rows& rows, Handed& handed);

  std::optional<Applied> refuse(RunId run) const;  // none: the job accepts writes
  Job* find(RunId run);
  std::optional<Failure> park(RunId run, const std::string& reason);
  void undo();

  Connection& connection_;
  const Parts parts_;
  std::map<RunId, Job> jobs_;
  Instant now_;
  std::optional<CommitMark> mark_;  // of the transaction; none: it has written nothing yet
  std::vector<DuplexOutcome> outcomes_;
};

}  // namespace pawl::store::postgres
