// Migrates a schema to the layout of this program, and prevents a migration under running programs that would break.
//
// A schema stores its version and the oldest version whose programs can use it. Every session of a program holds a
// shared lock; a step that breaks older programs needs the lock exclusively.
#pragma once

#include <cstdint>
#include <string>

#include "pawl/result.h"
#include "store/postgres/connection.h"
#include "store/postgres/steps.h"

namespace pawl::store::postgres {

struct Layout {
  std::int64_t version = -1;       // -1: there is no store
  std::int64_t readable_from = 0;  // by programs of this version and newer ones
};
Result<Layout> read_layout(Connection& connection, const std::string& schema);

// Creates the schema if it is missing, and runs the missing steps, all in one transaction under an advisory lock. Roles
// that could run the old layout may run the new one. Refused: a newer layout that this program cannot use, a role
// without the rights, a step that breaks running programs. REQUIRES: the search path of the connection is that schema,
// and it has not joined the layout.
Status migrate(Connection& connection, const std::string& schema, Migrations steps);

// Checks that this program can use the layout. While this session lasts, no step runs that would break it.
Status join_layout(Connection& connection, const std::string& schema, Migrations steps);

// Quotes any text as an SQL literal.
std::string literal(const std::string& text);

}  // namespace pawl::store::postgres
