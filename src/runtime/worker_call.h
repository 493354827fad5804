// One call of a user's worker or probe, on the thread of the caller: what it is given, what it may say
// meanwhile, and the only place where its exceptions end.
#pragma once

#include <atomic>
#include <functional>

#include "core/guid.h"
#include "core/job_state.h"
#include "pawl/worker.h"
#include "runtime/worker_word.h"

namespace pawl::runtime {

struct CallSite {
  const core::Guid& store;  // tokens are bound to it
  const std::atomic<bool>& cancelled;
  const std::atomic<bool>& stopping;  // it is cancelled since the process stops, and for no other reason
  const std::function<void(WorkerWord)>& tell;
};

void call_worker(const core::WorkItem& item, const Worker& worker, const CallSite& site);
void call_probe(const core::WorkItem& item, const Probe& probe, const CallSite& site);

}  // namespace pawl::runtime
