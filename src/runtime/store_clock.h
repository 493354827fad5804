// StoreClock: the time for an engine. Timers, leases and ends use the store's clock, which all processes on it share;
// durations are measured by this process's own clock.
#pragma once

#include "base/clock.h"
#include "store/job_store.h"

namespace pawl::runtime {

class StoreClock final : public Clock {
 public:
  // Both must outlive it.
  StoreClock(const store::JobStore& store, const Clock& own) : store_(store), own_(own) {}
  Instant now() const override { return store_.now(); }
  Duration monotonic() const override { return own_.monotonic(); }

 private:
  const store::JobStore& store_;
  const Clock& own_;
};

}  // namespace pawl::runtime
