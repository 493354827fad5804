#include "store/postgres/open.h"

#include <algorithm>

#include "base/format.h"
#include "store/postgres/limits.h"

namespace pawl::store::postgres {

namespace {

const Statement read_id{"read_id", "SELECT store_id FROM store_state WHERE id = 1"};

}  // namespace

Status check_schema_name(const std::string& schema) {
  const auto is_good = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_'; };
  const bool good = !schema.empty() && schema.size() <= limits::schema_name_bytes_max &&
                    std::all_of(schema.begin(), schema.end(), is_good) && !schema.starts_with("pg_");
  if (good) return {};
  return Error{ErrorCode::invalid, format("a schema is named by 1 to {} letters a to z, digits and underscores, and not pg_...;"
                                          " {} is not", limits::schema_name_bytes_max, schema)};
}

Status check_server(Connection& connection, const Options& options) {
  const auto version = connection.ask("SHOW server_version_num");
  if (!version) return version.error();
  if (version->size() < 6 || *version < "140000")
    return Error{ErrorCode::unsupported, format("the server has version {}; PostgreSQL 14 or newer is needed", *version)};
  const auto replica = connection.ask("SELECT pg_is_in_recovery()");
  if (!replica) return replica.error();
  if (*replica != "f")
    return Error{ErrorCode::unsupported, "the server is a replica, which takes no writes; name its primary"};
  if (options.durability == Durability::as_configured) return {};
  for (const char* setting : {"fsync", "full_page_writes", "synchronous_commit"}) {
    const auto value = connection.ask(std::string("SHOW ") + setting);
    if (!value) return value.error();
    if (*value == "off")
      return Error{ErrorCode::unsupported,
                   format("the server has {} = off, so what it acknowledges may be lost with a crash; set it to on, or open the"
                          " store with the weaker promise (Durability::as_configured)", setting)};
  }
  return {};
}

Result<core::Guid> read_store_id(Connection& connection) {
  Done done = connection.run(read_id);
  if (!done) return error_of(done.failure());
  if (!done[0].next()) return Error{ErrorCode::corrupt, "the store has no id"};
  const core::Guid id = done[0].guid(0);
  if (done[0].malformed()) return Error{ErrorCode::corrupt, "the store's id is malformed"};
  return id;
}

}  // namespace pawl::store::postgres
