// A SQLite file as the source or the target of a move (transfer/site.h).
#pragma once

#include <memory>
#include <string>

#include "store/sqlite/store.h"
#include "store/transfer/site.h"

namespace pawl::store::sqlite {

// The file must exist and contain a store.
Result<std::unique_ptr<transfer::Source>> open_source(const std::string& path, Options options);
// The file is created if it is missing.
Result<std::unique_ptr<transfer::Target>> open_target(const std::string& path, Options options);
// Undoes what a move wrote into its source.
Status undo_move(const std::string& path, Options options);

}  // namespace pawl::store::sqlite
