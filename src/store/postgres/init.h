// Creates the schema of a store, or migrates it. An operator does this before programs run, as the role that will own
// the schema.
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
  std::optional<std::string> run_role;  // gets only the rights to run the store
};

struct Initialized {
  std::int64_t before = -1;  // the version that was found; -1: there was no store
  std::int64_t version = 0;
  std::string owner;  // the role that created or migrated it
  std::vector<std::string> weaknesses;
};

// May be called again, also while programs run. Then nothing changes, or only what running programs can work with.
Result<Initialized> init(const std::string& address, const InitOptions& options);

}  // namespace pawl::store::postgres
