// Makes the schema of a store, or brings it forward: what an operator does before programs run, as the role that will
// own it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "pawl/result.h"
#include "store/postgres/store.h"

namespace pawl::store::postgres {

struct InitOptions {
  std::string schema = "pawl";
  Durability durability = Durability::full;
  std::optional<std::string> run_role;  // gets the rights that a run needs, and no more
};

struct Initialized {
  std::int64_t before = -1;  // the version that was found; -1: there was no store
  std::int64_t version = 0;
  std::string owner;  // the role that it was done by
  std::vector<std::string> weaknesses;
};

// May be called again, also while programs run: then nothing changes, or what they can live with.
Result<Initialized> init(const std::string& address, const InitOptions& options);

}  // namespace pawl::store::postgres
