// The mark of a move in a file: the file was moved away, or a move to it is not complete. It is no table of the layout,
// because most files never have it.
#pragma once

#include <optional>

#include "store/sqlite/connection.h"
#include "store/transfer/site.h"

namespace pawl::store::sqlite {

Result<std::optional<transfer::Mark>> read_mark(Connection& connection);
// Within a transaction of the caller. After a file was moved, no commit to it succeeds any more in any process that has
// it open, because each commit counts itself in store_state.
Status write_mark(Connection& connection, const transfer::Mark& mark);
Status drop_mark(Connection& connection);
// Before a file is opened for work.
Status check_mark(Connection& connection);

}  // namespace pawl::store::sqlite
