// Whether the servers keep the data durably. A setting that is weaker than the promise of docs/GUARANTEES.md must be
// explicitly accepted.
#pragma once

#include <string>
#include <vector>

#include "pawl/result.h"
#include "store/redis/servers.h"

namespace pawl::store::redis {

struct Weakness {
  std::string node;
  std::string what;  // the setting, and what may be lost because of it
};

// An error: the store cannot work there at all (too old, not a master). Else all settings that are too weak, on every
// master.
Result<std::vector<Weakness>> look_at_health(Servers& servers);

}  // namespace pawl::store::redis
