// The word that a schema has on moves: that it was moved away, or that a move to it is not complete. No table of the
// layout: most schemas never have it.
#pragma once

#include <optional>
#include <string>

#include "store/postgres/connection.h"
#include "store/transfer/site.h"

namespace pawl::store::postgres {

Result<std::optional<transfer::Mark>> read_mark(Connection& connection, const std::string& schema);
// Within a transaction of the caller. The tables of a schema that was moved refuse all writes, whoever has it open.
Status write_mark(Connection& connection, const std::string& schema, const transfer::Mark& mark);
Status drop_mark(Connection& connection, const std::string& schema);
// Before a schema is opened for work.
Status check_mark(Connection& connection, const std::string& schema);

// A text as SQL takes it, whatever is in it.
std::string quoted_text(const std::string& text);
// Does `what` with each table of the layout; %I in it is the table's name.
std::string for_each_table(const std::string& schema, const std::string& what);

}  // namespace pawl::store::postgres
