// The only door to time. The simulator passes a virtual clock; the runtime passes the machine's.
#pragma once

#include "pawl/time.h"

namespace pawl {

class Clock {
 public:
  virtual ~Clock() = default;
  virtual Instant now() const = 0;             // wall time, for people and timers
  virtual Duration monotonic() const = 0;      // since an arbitrary point, for leases and latency
};

// Any thread may call it.
class SystemClock final : public Clock {
 public:
  Instant now() const override;
  Duration monotonic() const override;
};

}  // namespace pawl
