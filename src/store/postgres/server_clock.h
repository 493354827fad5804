// ServerClock: the time for leases and timers. It is the server's time, the same for all nodes. Between two answers of
// the server it advances with this machine's elapsed time, and it never goes back. Tests pass their own clock.
#pragma once

#include <atomic>
#include <cstdint>
#include <limits>

#include "base/clock.h"
#include "store/postgres/connection.h"

namespace pawl::store::postgres {

class ServerClock {
 public:
  // `given` must outlive it; none: the server's clock.
  explicit ServerClock(const Clock* given) : given_(given) {}

  Instant now() const;
  // Asks in a script, which is sent after this call.
  std::size_t ask(Script& script) const;
  // The server's time, once its answer is read; with a given clock, that clock's time. The columns of a mark (tail.h)
  // follow the time.
  Instant take(Done& answers, std::size_t at);
  static constexpr int mark_column = 1;
  Duration elapsed() const { return process_clock().monotonic(); }

 private:
  const Clock* const given_;
  // The largest difference seen between the server's time and the elapsed time.
  std::atomic<std::int64_t> offset_{std::numeric_limits<std::int64_t>::min()};
};

}  // namespace pawl::store::postgres
