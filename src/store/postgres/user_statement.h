// One statement of a worker, from its text to its rows.
#pragma once

#include <libpq-fe.h>

#include <functional>
#include <memory>
#include <span>
#include <string_view>

#include "pawl/transaction.h"

namespace pawl::store::postgres {

struct ClearUserResult {
  void operator()(PGresult* result) const { PQclear(result); }
};
using ResultPtr = std::unique_ptr<PGresult, ClearUserResult>;

// Refuses statements that would end the transaction or change how the session works.
Status check_statement(std::string_view sql);

Result<SqlRows> run_statement(PGconn* handle, std::string_view sql, std::span<const SqlValue> params,
                              const std::function<Error(const PGresult*)>& error_of);

}  // namespace pawl::store::postgres
