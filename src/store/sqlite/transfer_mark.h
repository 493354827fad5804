// The word that a file has on moves: that it was moved away, or that a move to it is not complete. No table of the
// layout: most files never have it.
#pragma once

#include <optional>

#include "store/sqlite/connection.h"
#include "store/transfer/site.h"

namespace pawl::store::sqlite {

Result<std::optional<transfer::Mark>> read_mark(Connection& connection);
// Within a transaction of the caller. Of a file that was moved, no commit succeeds any more, whoever has it open: each
// of them counts itself in store_state.
Status write_mark(Connection& connection, const transfer::Mark& mark);
Status drop_mark(Connection& connection);
// Before a file is opened for work.
Status check_mark(Connection& connection);

}  // namespace pawl::store::sqlite
