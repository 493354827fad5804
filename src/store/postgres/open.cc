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
  return Error{ErrorCode::invalid,
               format("a schema is named by 1 to {} letters a to z, digits and underscores, and not pg_...;"
                      " {} is not",
                      limits::schema_name_bytes_max, schema)};
}

Result<std::vector<std::string>> check_server(Connection& connection, Durability durability) {
  const auto version = connection.ask("SHOW server_version_num");
  if (!version) return version.error();
  if (version->size() < 6 || *version < "140000")
    return Error{ErrorCode::unsupported,
                 format("the server has version {}; PostgreSQL 14 or newer is needed", *version)};
  const auto replica = connection.ask("SELECT pg_is_in_recovery()");
  if (!replica) return replica.error();
  if (*replica != "f")
    return Error{ErrorCode::unsupported, "the server is a replica, which takes no writes; name its primary"};
  const auto read_only = connection.ask("SHOW default_transaction_read_only");
  if (!read_only) return read_only.error();
  if (*read_only != "off")
    return Error{ErrorCode::unsupported,
                 "the server takes no writes: default_transaction_read_only is on, for the server, the database, "
                 "the role or this address; set it to off"};
  std::vector<std::string> weaknesses;
  for (const char* setting : {"fsync", "full_page_writes", "synchronous_commit"}) {
    const auto value = connection.ask(std::string("SHOW ") + setting);
    if (!value) return value.error();
    if (*value != "off") continue;
    const std::string what =
        format("the server has {} = off, so what it acknowledges may be lost with a crash", setting);
    if (durability == Durability::full)
      return Error{ErrorCode::unsupported, what +
                                               "; set it to on, or accept the weaker promise (--accept-weaker-store, "
                                               "Durability::as_configured)"};
    weaknesses.push_back(what);
  }
  return weaknesses;
}

namespace {

Result<std::string> server_process(Connection& connection) { return connection.ask("SELECT pg_backend_pid()"); }

}  // namespace

// A pooler hides the server's process id. If the id differs, two sessions take turns. A pooler that lends a server
// session for one transaction gives it to the next client that asks, so a session then finds itself in another server
// process.
Status check_session(Connection& connection, const Address& address) {
  const auto own = server_process(connection);
  if (!own) return own.error();
  if (*own == std::to_string(connection.server_pid())) return {};
  auto other = Connection::open(address);
  if (!other) return other.error();
  const auto first = server_process(**other);
  if (!first) return first.error();
  const Error pooled{ErrorCode::unsupported,
                     "a pooler is between this program and PostgreSQL, and it lends sessions for a transaction or "
                     "a statement at a time; set pool_mode = session for this database, or name the server itself"};
  if (*first == *own) return pooled;
  for (int round = 0; round < limits::pooler_rounds; ++round) {
    // One session holds a transaction while the other one asks; then they change roles.
    for (Connection* const holds : {&connection, other->get()}) {
      Connection* const asks = holds == &connection ? other->get() : &connection;
      if (const auto begun = holds->execute("BEGIN"); !begun) return pooled;
      const auto held = server_process(*holds);
      const auto asked = server_process(*asks);
      if (const auto ended = holds->execute("COMMIT"); !ended) return ended;
      if (!held || !asked) return held ? asked.error() : held.error();
      const auto& expected = holds == &connection ? *own : *first;
      const auto& expected_other = holds == &connection ? *first : *own;
      if (*held != expected || *asked != expected_other) return pooled;
    }
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
