// ServerClock: the time of the server, as this process knows it. It is asked once and goes on by elapsed time; every
// commit sets it right. It never goes back.
//
// Threads: any.
#pragma once

#include <atomic>

#include "base/clock.h"
#include "pawl/result.h"
#include "store/redis/servers.h"

namespace pawl::store::redis {

class ServerClock {
 public:
  // `servers` must outlive it.
  explicit ServerClock(Servers& servers) : servers_(servers) {}
  Status set();  // asks the server
  // Every answer of a script says what time it was meanwhile: that is free.
  void heard(std::int64_t server_micros, std::int64_t asked_at);
  Instant now() const;
  static std::int64_t elapsed();  // of this machine, in microseconds

 private:
  Servers& servers_;
  std::atomic<std::int64_t> offset_{0};          // the server's time less elapsed time
  mutable std::atomic<std::int64_t> latest_{0};  // that was told to anybody
};

}  // namespace pawl::store::redis
