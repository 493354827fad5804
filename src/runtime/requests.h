// Requests: what people, programs and remote workers ask of jobs. Each request is checked against the stored job and
// then committed; most are one operation. The process that owns the job's lane carries it out. Any thread may call it.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/message.h"
#include "pawl/bulk.h"
#include "pawl/finding.h"
#include "pawl/options.h"
#include "pawl/worker.h"
#include "runtime/apps.h"
#include "runtime/graph_catalog.h"
#include "runtime/work_desk.h"
#include "store/duplex_store.h"
#include "store/job_store.h"

namespace pawl::runtime {

// The state that the job will have after the messages in its inbox: a durable request counts, although the owner may
// not have carried it out yet.
core::JobStatus status_to_come(const store::StoredJob& job);

// What a request to a job commits.
struct RequestPlan {
  std::vector<store::Operation> first;     // all of it is what was asked for
  std::optional<store::Operation> behind;  // only once `first` is committed; it is no failure if it is not
  std::optional<RunId> goes_on{};          // the run that goes on; none: the one that was asked, or the one submitted
};

class Requests {
 public:
  using Commit = std::function<Result<store::Outcome>(store::Operation)>;
  using CommitDuplex = std::function<Result<store::DuplexOutcome>(store::DuplexOperation)>;
  struct Duplex {
    store::DuplexStore* store = nullptr;  // none: there are no such jobs
    CommitDuplex commit;
  };
  // The references must outlive it. `seed` distinguishes this process's requests from all others.
  Requests(store::JobStore& store, store::PoolInfo pool, const GraphCatalog& graphs, std::uint64_t seed, Commit commit,
           Duplex duplex);

  Status interrupt(RunId run, const std::string& reason);
  Status cancel(RunId run, const std::string& reason);
  Status pause(RunId run, const std::string& reason);
  Status resume(RunId run);
  // The run that goes on: of a failed job a new one.
  Result<RunId> redrive(RunId run, const RedriveOptions& options);
  struct Again {
    RunId run{0};
    std::string id;
  };
  Result<Again> rerun(RunId run, const RerunOptions& options);
  Status settle(RunId run, const ActivityPlace& place, const Finding& finding);
  Status remove(RunId run, Duration keep_id);
  Status pause_topic(const std::string& topic, bool paused);
  Status signal(const Apps& apps, const std::string& topic, const Payload& data, const SignalOptions& options);
  // For the hooks of one job.
  Status signal_job(RunId run, const std::string& topic, const Payload& data, const SignalOptions& options);

  // What asking this of the job would commit, once it was checked.
  Result<RequestPlan> plan(RunId run, const BulkRequest& request);
  std::string fresh_signal_id();
  static Status taken(const Result<store::Outcome>& outcome);

  Status complete(const std::string& token, const Reply& reply);
  Status heartbeat(const std::string& token, Payload progress, Duration lease);

 private:
  // A job of collation ledger; for a duplex one, the error has `instead`: what to do.
  Result<store::StoredJob> read(RunId run, std::string_view instead);
  Result<std::optional<store::DuplexView>> view_duplex(RunId run);  // none: not a duplex job
  Status interrupt_duplex(const core::JobRow& job, const std::string& reason);
  Status complete_without_item(const WorkRun& named, const Reply& reply);
  Status complete_duplex(const store::DuplexJob& job, core::WorkToken token, const Reply& reply);
  Status deliver(RunId run, core::Body body);
  store::Operation message_to(RunId run, core::Body body);
  Result<store::Operation> plan_interrupt(RunId run, const std::string& reason);
  Result<store::Operation> plan_cancel(RunId run, const std::string& reason);
  Result<store::Operation> plan_pause(RunId run, const std::string& reason);
  Result<store::Operation> plan_resume(RunId run);
  Result<RequestPlan> plan_redrive(RunId run, const RedriveOptions& options);
  Result<store::Operation> plan_answer(const store::StoredJob& job, const RedriveOptions& options);
  Result<RequestPlan> plan_new_run(const store::StoredJob& job);
  Result<bool> has_followed(RunId newest, RunId run);
  Result<store::Submit> submit_again(const store::StoredJob& job, const RerunOptions& options, bool carries);
  Result<store::Operation> plan_remove(RunId run, Duration keep_id);
  Result<std::vector<core::MailboxKey>> mailboxes_for_job(RunId run, const std::string& topic, const Payload& data,
                                                          const SignalOptions& options);
  std::vector<store::Operation> signals_to(const std::vector<core::MailboxKey>& to, const Payload& data,
                                           const SignalOptions& options, const std::string& id);
  Status send_signal(const std::vector<core::MailboxKey>& to, const Payload& data, const SignalOptions& options);

  store::JobStore& store_;
  const store::PoolInfo pool_;
  const GraphCatalog& graphs_;
  const std::uint64_t seed_;
  const Commit commit_;
  const Duplex duplex_;
  std::atomic<std::uint64_t> count_{0};
};

}  // namespace pawl::runtime
