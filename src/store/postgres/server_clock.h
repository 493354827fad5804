// ServerClock: the time by which leases and timers go. The server's, for all nodes alike; between two answers of the
// server it goes on by this machine's elapsed time, and it never goes back. Tests give a clock of their own.
#pragma once

#include <atomic>
#include <cstdint>
#include <limits>

#include "base/clock.h"
#include "store/postgres/connection.h"

namespace pawl::store::postgres {

class ServerClock {
 public:
  // `given` must outlive it; none: the server's.
  explicit ServerClock(const Clock* given) : given_(given) {}

  Instant now() const;
  // Asks in a script, which is sent after this call.
  std::size_t ask(Script& script) const;
  // The server's word, when its answer is here; of a clock that was given, its own. Behind the time stand the columns
  // of a mark (tail.h).
  Instant take(Done& answers, std::size_t at);
  static constexpr int mark_column = 1;
  Duration elapsed() const { return process_clock().monotonic(); }

 private:
  const Clock* const given_;
  // The largest difference between the server's time and the elapsed time that was ever seen.
  std::atomic<std::int64_t> offset_{std::numeric_limits<std::int64_t>::min()};
};

}  // namespace pawl::store::postgres
