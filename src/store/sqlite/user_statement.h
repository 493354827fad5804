// UserStatement: one statement of a worker, from its text to its rows.
#pragma once

#include <sqlite3.h>

#include <span>
#include <string_view>

#include "pawl/transaction.h"

namespace pawl::store::sqlite {

class UserStatement {
 public:
  UserStatement() = default;
  UserStatement(const UserStatement&) = delete;
  UserStatement& operator=(const UserStatement&) = delete;
  ~UserStatement() { sqlite3_finalize(statement_); }

  int prepare(sqlite3* database, std::string_view sql);  // a result code of SQLite
  Status is_one() const;                                 // not none, and not several
  // $1 and ?1 are the first parameter; ? is the parameter at its position.
  Status bind(std::span<const SqlValue> params);
  Status run(SqlRows& rows);  // over_limit; for other failures code() has the reason
  int code() const { return code_; }

 private:
  sqlite3* database_ = nullptr;
  sqlite3_stmt* statement_ = nullptr;
  std::string_view rest_;  // behind the statement
  int code_ = SQLITE_OK;
};

Error late_transaction();

}  // namespace pawl::store::sqlite
