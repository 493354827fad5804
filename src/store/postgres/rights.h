// The rights that a run needs, and no other: to read and change rows. A role that has only these cannot make, change or
// drop a table, nor say that the layout is another one.
#pragma once

#include <string>

#include "pawl/result.h"
#include "store/postgres/connection.h"

namespace pawl::store::postgres {

// Lets the role run the store of a schema that is there. Refused: a role that is not there, that owns the schema or is
// a member of its owner, for that one can do everything.
Status grant_run(Connection& connection, const std::string& schema, const std::string& role);

// The same for all roles that could run the layout before, as a part of a migration.
std::string rights_again_sql(const std::string& schema);

}  // namespace pawl::store::postgres
