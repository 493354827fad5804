// Whether the servers keep what they are given. What is weaker than the promise of docs/GUARANTEES.md must be asked
// for.
#pragma once

#include <string>
#include <vector>

#include "pawl/result.h"
#include "store/redis/servers.h"

namespace pawl::store::redis {

struct Weakness {
  std::string node;
  std::string what;  // what is set, and what may be lost by that
};

// An error: the store cannot work there at all (too old, no master). Else what is weaker than it should be, on every
// master.
Result<std::vector<Weakness>> look_at_health(Servers& servers);

}  // namespace pawl::store::redis
