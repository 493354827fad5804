// The only access to time. The simulator passes a virtual clock; the runtime passes the machine's.
#pragma once

#include <atomic>
#include <cstdint>

#include "pawl/time.h"

namespace pawl {

class Clock {
 public:
  virtual ~Clock() = default;
  virtual Instant now() const = 0;         // wall time, for people and timers
  virtual Duration monotonic() const = 0;  // since an arbitrary point, for leases and latency
};

// The machine's clocks as they are. Any thread may call it.
class SystemClock final : public Clock {
 public:
  Instant now() const override;
  Duration monotonic() const override;
};

// Wall time for one process. It advances with elapsed time and jumps ahead with its source, so that times that passed
// while a machine was suspended are over when it wakes. It does not go back with its source: a wait of one minute takes
// one minute even if the clock is set back by an hour meanwhile. Any thread may call it.
class SteadyClock final : public Clock {
 public:
  // `source` must outlive it.
  explicit SteadyClock(const Clock& source);

  Instant now() const override;
  Duration monotonic() const override { return source_.monotonic(); }
  // How far it is ahead of its source, which was set back.
  Duration ahead() const;

 private:
  std::int64_t look() const;  // the source's wall time minus its elapsed time

  const Clock& source_;
  mutable std::atomic<std::int64_t> offset_;  // the largest seen so far
};

// The one clock of this process: its runtimes and stores agree on the time.
const SteadyClock& process_clock();

}  // namespace pawl
