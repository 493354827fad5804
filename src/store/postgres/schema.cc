#include "store/postgres/schema.h"

#include <charconv>

#include "base/format.h"
#include "store/postgres/rights.h"
#include "store/postgres/schema_counts.h"
#include "store/postgres/schema_duplex.h"
#include "store/postgres/schema_indexes.h"
#include "store/postgres/schema_tables.h"
#include "store/postgres/schema_views.h"

namespace pawl::store::postgres {

namespace {

constexpr Step all_steps[] = {tables_schema, duplex_schema, views_schema, indexes_schema, counts_schema};

// An advisory lock is named by two numbers: the first is used only by Pawl ("pawl", and the next), the second is
// derived from the schema.
std::string lock_of_migration(const std::string& schema) { return "1885435756, hashtext(" + literal(schema) + ")"; }
std::string lock_of_programs(const std::string& schema) { return "1885435757, hashtext(" + literal(schema) + ")"; }

std::int64_t newest(Migrations steps) { return static_cast<std::int64_t>(steps.size()); }

// The oldest version whose programs can use the layout that these steps create.
std::int64_t readable_from(Migrations steps) {
  std::int64_t from = 1;
  for (std::size_t at = 0; at < steps.size(); ++at)
    if (steps[at].older == Step::Older::break_) from = static_cast<std::int64_t>(at) + 1;
  return from;
}

Error needs_owner(const std::string& schema, const std::string& what) {
  return Error{ErrorCode::unsupported,
               format("{}; run pawl init with this address, as the role that owns the schema {} (docs/POSTGRES.md)",
                      what, schema)};
}

std::string name_problem(const Layout& layout, const std::string& schema, Migrations steps) {
  if (layout.version < 0) return format("there is no store in the schema {}", schema);
  return format("the schema {} has version {}, this program needs {}", schema, layout.version, newest(steps));
}

// Whether this program can use a newer layout.
Status check_newer(const Layout& layout, const std::string& schema, Migrations steps) {
  if (layout.version <= newest(steps) || layout.readable_from <= newest(steps)) return {};
  return Error{ErrorCode::unsupported, format("the schema {} has version {} and takes programs that know version {} or "
                                              "newer, this one knows {}; use a newer "
                                              "program",
                                              schema, layout.version, layout.readable_from, newest(steps))};
}

Result<bool> may_change(Connection& connection, const std::string& schema) {
  const auto answer = connection.ask(
      "SELECT CASE WHEN EXISTS (SELECT FROM pg_tables WHERE tablename = 'schema_version' AND schemaname = " +
      literal(schema) +
      ") THEN (SELECT pg_has_role(tableowner, 'USAGE') FROM pg_tables WHERE tablename = 'schema_version' AND "
      "schemaname = " +
      literal(schema) + ") WHEN EXISTS (SELECT FROM pg_namespace WHERE nspname = " + literal(schema) +
      ") THEN has_schema_privilege(" + literal(schema) +
      ", 'CREATE') ELSE has_database_privilege(current_database(), 'CREATE') END");
  if (!answer) return answer.error();
  return *answer == "t";
}

// Checks that no running program would break by the steps, and keeps such programs out until this transaction ends.
Status keep_out_older(Connection& connection, const std::string& schema, const Layout& layout, Migrations steps) {
  if (layout.version < 0 || readable_from(steps) <= layout.version) return {};
  const auto alone = connection.ask("SELECT pg_try_advisory_xact_lock(" + lock_of_programs(schema) + ")");
  if (!alone) return alone.error();
  const auto engines = connection.ask(
      "SELECT coalesce(string_agg(DISTINCT name, ', '), '') FROM engines WHERE until > extract(epoch FROM "
      "clock_timestamp()) * 1000000");
  if (!engines) return engines.error();
  if (*alone == "t" && engines->empty()) return {};
  return Error{
      ErrorCode::conflict,
      format(
          "the step from version {} to {} of the schema {} breaks older programs, and {}; stop all of them, wait for "
          "their lease (a killed one is counted until then), and run pawl init",
          layout.version, steps.size(), schema,
          engines->empty() ? "some have it open" : "these engines run: " + *engines)};
}

Status run_steps(Connection& connection, const std::string& schema, Migrations steps) {
  auto done = connection.execute("SET LOCAL statement_timeout TO 0; SELECT pg_advisory_xact_lock(" +
                                 lock_of_migration(schema) + ")");
  if (!done) return done;
  auto layout = read_layout(connection, schema);
  if (!layout) return layout.error();
  if (layout->version >= newest(steps)) return check_newer(*layout, schema, steps);  // another program did it first
  if (const auto alone = keep_out_older(connection, schema, *layout, steps); !alone) return alone;
  std::string sql;
  if (layout->version < 0) {
    const auto there = connection.ask("SELECT count(*) FROM pg_namespace WHERE nspname = " + literal(schema));
    if (!there) return there.error();
    if (*there == "0") sql = "CREATE SCHEMA " + quoted_name(schema) + ";";
    sql +=
        "CREATE TABLE schema_version (id smallint PRIMARY KEY CHECK (id = 1), version bigint NOT NULL);"
        "INSERT INTO schema_version VALUES (1, 0);";
  }
  sql += "ALTER TABLE schema_version ADD COLUMN IF NOT EXISTS readable_from bigint NOT NULL DEFAULT 1;";
  for (std::size_t at = layout->version < 0 ? 0 : static_cast<std::size_t>(layout->version); at < steps.size(); ++at)
    sql += steps[at].sql;
  sql += format("UPDATE schema_version SET version = {}, readable_from = {};", steps.size(), readable_from(steps));
  sql += rights_again_sql(schema);
  return connection.execute(sql);
}

}  // namespace

std::string literal(const std::string& text) {
  std::string quoted = "'";
  for (const char c : text) {
    if (c == '\'') quoted.push_back('\'');
    quoted.push_back(c);
  }
  return quoted + '\'';
}

Migrations migrations() { return all_steps; }

// A layout without the column readable_from is only for programs of its own version.
Result<Layout> read_layout(Connection& connection, const std::string& schema) {
  const auto there = connection.ask(
      "SELECT CASE WHEN NOT EXISTS (SELECT FROM pg_tables WHERE tablename = 'schema_version' AND schemaname = " +
      literal(schema) + ") THEN 'none' WHEN NOT has_schema_privilege(" + literal(schema) +
      ", 'USAGE') THEN 'closed' ELSE 'open' END");
  if (!there) return there.error();
  if (*there == "none") return Layout{};
  const auto role = connection.ask("SELECT current_user");
  if (!role) return role.error();
  if (*there == "closed")
    return needs_owner(schema, format("the role {} may not use the schema, --run-role {} lets it", *role, *role));
  const auto text = connection.ask(
      "SELECT version || ' ' || coalesce(to_jsonb(v)->>'readable_from', version::text) FROM schema_version v");
  if (!text) return text.error();
  Layout layout;
  const char* const end = text->data() + text->size();
  const auto first = std::from_chars(text->data(), end, layout.version);
  if (first.ec != std::errc{} || first.ptr == end ||
      std::from_chars(first.ptr + 1, end, layout.readable_from).ec != std::errc{})
    return Error{ErrorCode::corrupt, format("the version of the schema {} is malformed", schema)};
  return layout;
}

Status join_layout(Connection& connection, const std::string& schema, Migrations steps) {
  // Waits while another program migrates the schema.
  const auto joined = connection.execute("SELECT pg_advisory_lock_shared(" + lock_of_programs(schema) + ")");
  if (!joined) return joined;
  const auto layout = read_layout(connection, schema);
  if (!layout) return layout.error();
  if (layout->version < newest(steps)) return needs_owner(schema, name_problem(*layout, schema, steps));
  return check_newer(*layout, schema, steps);
}

Status migrate(Connection& connection, const std::string& schema, Migrations steps) {
  const auto layout = read_layout(connection, schema);
  if (!layout) return layout.error();
  if (layout->version >= newest(steps)) return check_newer(*layout, schema, steps);
  const auto may = may_change(connection, schema);
  if (!may) return may.error();
  if (!*may) return needs_owner(schema, name_problem(*layout, schema, steps));
  auto done = connection.execute("BEGIN");
  if (!done) return done;
  done = run_steps(connection, schema, steps);
  if (done) return connection.execute("COMMIT");
  const auto undone = connection.execute("ROLLBACK");  // the first error is reported
  return undone || connection.is_lost() ? done : undone;
}

}  // namespace pawl::store::postgres
