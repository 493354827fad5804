// The layout of the tables, as a list of steps that only grows. A schema of any older version is brought forward step by
// step when it is opened, by one process at a time.
#pragma once

#include <span>
#include <string>

#include "pawl/result.h"
#include "store/postgres/connection.h"

namespace pawl::store::postgres {

// Step n (from 1) takes a schema of version n - 1 to version n.
using Migrations = std::span<const char* const>;
Migrations migrations();

// Makes the schema if it is missing, and runs what is missing in it, all in one transaction under an advisory lock; refuses
// one that is newer. REQUIRES: the connection looks for tables in that schema.
Status migrate(Connection& connection, const std::string& schema, Migrations steps);

// That it is there, and of this program's version.
Status check_layout(Connection& connection, const std::string& schema, Migrations steps);

}  // namespace pawl::store::postgres
