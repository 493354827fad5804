#include "store/postgres/schema.h"

#include <charconv>

#include "base/format.h"
#include "store/postgres/schema_duplex.h"
#include "store/postgres/schema_indexes.h"
#include "store/postgres/schema_tables.h"
#include "store/postgres/schema_views.h"

namespace pawl::store::postgres {

namespace {

constexpr const char* all_steps[] = {tables_schema, duplex_schema, views_schema, indexes_schema};

Result<std::int64_t> number_of(Connection& connection, const std::string& sql) {
  const auto text = connection.ask(sql);
  if (!text) return text.error();
  std::int64_t number = 0;
  std::from_chars(text->data(), text->data() + text->size(), number);
  return number;
}

std::string literal(const std::string& text) {
  std::string quoted = "'";
  for (const char c : text) {
    if (c == '\'') quoted.push_back('\'');
    quoted.push_back(c);
  }
  return quoted + '\'';
}

// -1: there is no such schema, or none of ours.
Result<std::int64_t> version_of(Connection& connection, const std::string& schema) {
  const auto there = number_of(connection, "SELECT count(*) FROM pg_tables WHERE tablename = 'schema_version' AND schemaname = " +
                                               literal(schema));
  if (!there) return there.error();
  if (*there == 0) return std::int64_t{-1};
  return number_of(connection, "SELECT version FROM schema_version");
}

Status check_version(std::int64_t version, const std::string& schema, Migrations steps) {
  if (version <= static_cast<std::int64_t>(steps.size())) return {};
  return Error{ErrorCode::unsupported, format("the schema {} has version {}, this program knows versions up to {}; use a newer"
                                              " program", schema, version, steps.size())};
}

Status run_steps(Connection& connection, const std::string& schema, Migrations steps) {
  // One at a time, whoever opens it: the number is ours alone ("pawl" and what follows from the name of the schema).
  auto done = connection.execute("SELECT pg_advisory_xact_lock(1885435756, hashtext(" + literal(schema) + "))");
  if (!done) return done;
  auto version = version_of(connection, schema);
  if (!version) return version.error();
  if (const auto known = check_version(*version, schema, steps); !known) return known;
  std::string sql;
  if (*version < 0)
    sql = "CREATE SCHEMA IF NOT EXISTS " + quoted_name(schema) +
          "; CREATE TABLE schema_version (id smallint PRIMARY KEY CHECK (id = 1), version bigint NOT NULL);"
          " INSERT INTO schema_version VALUES (1, 0);";
  const auto first = static_cast<std::size_t>(*version < 0 ? 0 : *version);
  if (first == steps.size() && sql.empty()) return {};
  for (std::size_t at = first; at < steps.size(); ++at) sql += steps[at];
  sql += format("UPDATE schema_version SET version = {};", steps.size());
  return connection.execute(sql);
}

}  // namespace

Migrations migrations() { return all_steps; }

Status check_layout(Connection& connection, const std::string& schema, Migrations steps) {
  const auto version = version_of(connection, schema);
  if (!version) return version.error();
  if (const auto known = check_version(*version, schema, steps); !known) return known;
  if (*version == static_cast<std::int64_t>(steps.size())) return {};
  return Error{ErrorCode::unsupported, *version < 0 ? format("there is no store in the schema {}", schema)
                                                    : format("the schema {} has version {}, this program needs {}; open it with"
                                                             " the rights to bring it forward", schema, *version, steps.size())};
}

Status migrate(Connection& connection, const std::string& schema, Migrations steps) {
  const auto version = version_of(connection, schema);
  if (!version) return version.error();
  if (const auto known = check_version(*version, schema, steps); !known) return known;
  if (*version == static_cast<std::int64_t>(steps.size())) return {};
  auto done = connection.execute("BEGIN");
  if (!done) return done;
  done = run_steps(connection, schema, steps);
  if (done) return connection.execute("COMMIT");
  const auto undone = connection.execute("ROLLBACK");  // the error to report is the first one
  return undone || connection.is_lost() ? done : undone;
}

}  // namespace pawl::store::postgres
