// ServerClock: the time for leases and timers. It is the server's time, the same for all nodes, as this process knows
// it (../server_time.h). Tests pass their own clock.
#pragma once

#include <cstddef>

#include "base/clock.h"
#include "store/postgres/connection.h"
#include "store/server_time.h"

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

 private:
  const Clock* const given_;
  ServerTime time_;
};

}  // namespace pawl::store::postgres
