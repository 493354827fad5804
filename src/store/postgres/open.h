// Checks before a server is used.
#pragma once

#include <string>
#include <vector>

#include "core/guid.h"
#include "pawl/result.h"
#include "store/postgres/connection.h"
#include "store/postgres/store.h"

namespace pawl::store::postgres {

// Checks that the name is valid for the schema and the channel.
Status check_schema_name(const std::string& schema);
// Checks that the server is not a replica, accepts writes and keeps what it acknowledges. If the caller accepts less:
// returns what may be lost, and by which setting.
Result<std::vector<std::string>> check_server(Connection& connection, Durability durability);
// Checks that the address leads to one session, and not to a pooler that changes it from transaction to transaction.
Status check_session(Connection& connection, const Address& address);
Result<core::Guid> read_store_id(Connection& connection);

}  // namespace pawl::store::postgres
