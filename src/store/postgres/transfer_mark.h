// The mark of a move in a schema: that it was moved away, or that a move to it is not complete. It is not a table of
// the layout, because most schemas never have it.
#pragma once

#include <optional>
#include <string>

#include "store/postgres/connection.h"
#include "store/transfer/site.h"

namespace pawl::store::postgres {

Result<std::optional<transfer::Mark>> read_mark(Connection& connection, const std::string& schema);
// Within a transaction of the caller. The tables of a moved schema refuse all writes, also from sessions that have it
// open.
Status write_mark(Connection& connection, const std::string& schema, const transfer::Mark& mark);
Status drop_mark(Connection& connection, const std::string& schema);
// Called before a schema is opened for work.
Status check_mark(Connection& connection, const std::string& schema);

// Quotes any text as an SQL literal.
std::string quoted_text(const std::string& text);
// Runs `what` for each table of the layout; %I in it is the table's name.
std::string for_each_table(const std::string& schema, const std::string& what);

}  // namespace pawl::store::postgres
