// A SQLite file as the source or the target of a move (transfer/site.h).
#pragma once

#include <memory>
#include <string>

#include "store/sqlite/store.h"
#include "store/transfer/site.h"

namespace pawl::store::sqlite {

// There is a file with a store in it.
Result<std::unique_ptr<transfer::Source>> open_source(const std::string& path, Options options);
// The file is made if it is missing.
Result<std::unique_ptr<transfer::Target>> open_target(const std::string& path, Options options);
// Takes back what a move wrote into its source.
Status undo_move(const std::string& path, Options options);

}  // namespace pawl::store::sqlite
