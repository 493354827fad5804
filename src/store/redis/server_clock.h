// ServerClock: the server's time, as this process knows it. The server is asked once, then elapsed time is added; every
// commit corrects it. It never goes back.
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
  // Every script reply contains the server's time, at no extra cost.
  void observe(std::int64_t server_micros, std::int64_t asked_at);
  Instant now() const;
  static std::int64_t elapsed();  // of this machine, in microseconds

 private:
  Servers& servers_;
  std::atomic<std::int64_t> offset_{0};          // the server's time less elapsed time
  mutable std::atomic<std::int64_t> latest_{0};  // the latest time that was returned
};

}  // namespace pawl::store::redis
