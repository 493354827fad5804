// StoreClock: what time it is for an engine. Timers, leases and ends are by the store's clock, which all processes on
// it share; how long something takes is by this process's own.
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
