// Stores to play cases on, by name: memory, sqlite, postgres, redis, redis_cluster. A server is started once for the
// program, when a case first needs it, and syncs every commit; each case gets an empty store there.
#pragma once

#include <memory>
#include <string>

#include "base/clock.h"
#include "pawl/result.h"
#include "store/store.h"

namespace pawl::graphs {

struct OpenedStore {
  std::shared_ptr<void> ground;  // its folder or schema; removed after the store
  std::unique_ptr<store::Store> store;
};

// The clock must outlive it.
Result<OpenedStore> open_store(const std::string& name, const Clock& clock);

}  // namespace pawl::graphs
