// One call of a user's worker or probe, on the calling thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>

#include "core/guid.h"
#include "core/job_state.h"
#include "pawl/finding.h"
#include "pawl/transaction.h"
#include "pawl/worker.h"
#include "runtime/worker_message.h"
#include "store/transaction.h"

namespace pawl::runtime {

struct CallSite {
  const core::Guid& store;  // tokens are bound to it
  const std::atomic<bool>& cancelled;
  const std::atomic<bool>& stopping;  // it is cancelled only because the process stops
  const std::function<void(WorkerMessage)>& tell;
  store::TransactionStore* transactions = nullptr;  // of a remote store; with one writer, `tell` asks for them
  std::atomic<std::int64_t>* last_sign_at =
      nullptr;  // the worker's last heartbeat or reply, monotonic, in microseconds
};

void call_worker(const core::WorkItem& item, const Worker& worker, const CallSite& site);
void call_probe(const core::WorkItem& item, const Probe& probe, const CallSite& site);
// With a transaction of the store, which a successful reply commits; otherwise it is rolled back (transaction_call.cc).
void call_transaction(const core::WorkItem& item, const TransactionWorker& worker, const CallSite& site);

}  // namespace pawl::runtime
