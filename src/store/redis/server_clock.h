// ServerClock: the server's time, as this process knows it (../server_time.h). The server is asked when the store
// opens; every commit corrects it.
//
// Threads: any.
#pragma once

#include <cstdint>

#include "pawl/result.h"
#include "store/server_time.h"
#include "store/redis/servers.h"

namespace pawl::store::redis {

class ServerClock {
 public:
  // `servers` must outlive it.
  explicit ServerClock(Servers& servers) : servers_(servers) {}
  Status set();  // asks the server
  // Every script reply contains the server's time, at no extra cost.
  void observe(std::int64_t server_micros);
  Instant now() const;

 private:
  Status ask();

  Servers& servers_;
  ServerTime time_;
};

}  // namespace pawl::store::redis
