// What is looked at before a server is used.
#pragma once

#include <string>
#include <vector>

#include "core/guid.h"
#include "pawl/result.h"
#include "store/postgres/connection.h"
#include "store/postgres/store.h"

namespace pawl::store::postgres {

// A name that schema and channel can have.
Status check_schema_name(const std::string& schema);
// That it is no replica, takes writes and keeps what it acknowledges. If less is accepted: what may be lost by which
// setting.
Result<std::vector<std::string>> check_server(Connection& connection, Durability durability);
// That what is behind the address is one session, and no pooler that changes it from transaction to transaction.
Status check_session(Connection& connection, const Address& address);
Result<core::Guid> read_store_id(Connection& connection);

}  // namespace pawl::store::postgres
