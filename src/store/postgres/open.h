// What is looked at before a server is used.
#pragma once

#include <string>

#include "core/guid.h"
#include "pawl/result.h"
#include "store/postgres/connection.h"
#include "store/postgres/store.h"

namespace pawl::store::postgres {

// A name that schema and channel can have.
Status check_schema_name(const std::string& schema);
// That it is no replica and keeps what it acknowledges.
Status check_server(Connection& connection, const Options& options);
Result<core::Guid> read_store_id(Connection& connection);

}  // namespace pawl::store::postgres
