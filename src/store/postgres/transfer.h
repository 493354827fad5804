// A schema of a PostgreSQL database as the source or the target of a move (transfer/site.h).
#pragma once

#include <memory>
#include <string>

#include "store/postgres/store.h"
#include "store/transfer/site.h"

namespace pawl::store::postgres {

// REQUIRES: the schema holds a store.
Result<std::unique_ptr<transfer::Source>> open_source(const std::string& address, Options options);
// Creates the schema if it is missing.
Result<std::unique_ptr<transfer::Target>> open_target(const std::string& address, Options options);
// Removes the mark that a move wrote into its source.
Status undo_move(const std::string& address, Options options);

}  // namespace pawl::store::postgres
