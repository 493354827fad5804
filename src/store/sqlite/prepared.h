// A statement and its SQL: each part of the writer prepares its own, once.
#pragma once

#include <initializer_list>

#include "pawl/result.h"
#include "store/sqlite/connection.h"
#include "store/sqlite/statement.h"

namespace pawl::store::sqlite {

struct Prepared {
  Statement* statement;
  const char* sql;
};

inline Status prepare_each(Connection& connection, std::initializer_list<Prepared> all) {
  for (const Prepared& one : all) {
    const int rc = one.statement->prepare(connection.handle(), one.sql);
    if (rc != SQLITE_OK) return connection.error(rc, "find the expected tables in");
  }
  return {};
}

}  // namespace pawl::store::sqlite
