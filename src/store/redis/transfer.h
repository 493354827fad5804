// A Redis store as the source or the target of a move (transfer/site.h).
#pragma once

#include <memory>
#include <string>

#include "store/redis/store.h"
#include "store/transfer/site.h"

namespace pawl::store::redis {

// There is a store under that prefix.
Result<std::unique_ptr<transfer::Source>> open_source(const std::string& url, Options options);
Result<std::unique_ptr<transfer::Target>> open_target(const std::string& url, Options options);
// Removes what a move wrote into its source.
Status undo_move(const std::string& url, Options options);

}  // namespace pawl::store::redis
