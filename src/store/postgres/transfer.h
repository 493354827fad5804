// A schema of a PostgreSQL database as the source or the target of a move (transfer/site.h).
#pragma once

#include <memory>
#include <string>

#include "store/postgres/store.h"
#include "store/transfer/site.h"

namespace pawl::store::postgres {

// There is a store in that schema.
Result<std::unique_ptr<transfer::Source>> open_source(const std::string& address, Options options);
// The schema is made if it is missing.
Result<std::unique_ptr<transfer::Target>> open_target(const std::string& address, Options options);
// Takes back what a move wrote into its source.
Status undo_move(const std::string& address, Options options);

}  // namespace pawl::store::postgres
