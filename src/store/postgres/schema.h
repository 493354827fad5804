// Brings a schema to the layout of this program, and keeps that from happening under programs that could not live with
// it.
//
// A schema says its version and the oldest version whose programs can use it. Every session of a program holds a lock
// that others may share; a step that breaks older programs needs it alone.
#pragma once

#include <cstdint>
#include <string>

#include "pawl/result.h"
#include "store/postgres/connection.h"
#include "store/postgres/steps.h"

namespace pawl::store::postgres {

struct Layout {
  std::int64_t version = -1;       // -1: there is no store
  std::int64_t readable_from = 0;  // by programs of this version and of newer ones
};
Result<Layout> read_layout(Connection& connection, const std::string& schema);

// Makes the schema if it is missing, and runs what is missing in it, all in one transaction under an advisory lock. Who
// could run the old layout may run the new one. Refused: one that is newer and that this program cannot use, a role
// without the rights, a step that breaks programs that run. REQUIRES: the connection looks for tables in that schema,
// and did not join it.
Status migrate(Connection& connection, const std::string& schema, Migrations steps);

// As long as this session lasts no step is run that would break it; and this program can use the layout.
Status join_layout(Connection& connection, const std::string& schema, Migrations steps);

// A text as SQL takes it.
std::string literal(const std::string& text);

}  // namespace pawl::store::postgres
