// The rights to run a store, and no others: to read and change rows. A role with only these rights cannot create,
// change or drop a table, nor change the version of the layout.
#pragma once

#include <string>

#include "pawl/result.h"
#include "store/postgres/connection.h"

namespace pawl::store::postgres {

// Lets the role run the store of an existing schema. Refused: a role that does not exist, and one that owns the schema
// or is a member of its owner, because it can do everything.
Status grant_run(Connection& connection, const std::string& schema, const std::string& role);

// Grants the same rights again to all roles that could run the layout before, as a part of a migration.
std::string rights_again_sql(const std::string& schema);

}  // namespace pawl::store::postgres
