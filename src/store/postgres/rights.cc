#include "store/postgres/rights.h"

#include "base/format.h"
#include "store/postgres/schema.h"

namespace pawl::store::postgres {

namespace {

// Grants the rights to each role of the array `roles`. To lock the row of store_state a role needs UPDATE on one
// column: it gets it on id, which must be 1, so it can change nothing.
constexpr char grant_block[] = R"sql(
DO $pawl$
DECLARE one record; who name;
BEGIN
  FOREACH who IN ARRAY {0} LOOP
    EXECUTE format('GRANT USAGE ON SCHEMA %I TO %I', {1}, who);
    FOR one IN SELECT c.relname, c.relkind FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
               WHERE n.nspname = {1} AND c.relkind IN ('r', 'p', 'v', 'S') LOOP
      EXECUTE format(CASE
        WHEN one.relname = 'schema_version' OR one.relkind = 'v' THEN 'GRANT SELECT ON TABLE %I.%I TO %I'
        WHEN one.relname = 'store_state' THEN 'GRANT SELECT, UPDATE (id) ON TABLE %I.%I TO %I'
        WHEN one.relkind = 'S' THEN 'GRANT USAGE ON SEQUENCE %I.%I TO %I'
        ELSE 'GRANT SELECT, INSERT, UPDATE, DELETE ON TABLE %I.%I TO %I' END, {1}, one.relname, who);
    END LOOP;
  END LOOP;
END $pawl$;
)sql";

std::string grants(const std::string& roles, const std::string& schema) {
  return format(grant_block, roles, literal(schema));
}

}  // namespace

// A role that may insert jobs is a role that runs the store.
std::string rights_again_sql(const std::string& schema) {
  return grants(
      "ARRAY(SELECT r.rolname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace, aclexplode(c.relacl) a"
      " JOIN pg_roles r ON r.oid = a.grantee WHERE n.nspname = " +
          literal(schema) + " AND c.relname = 'jobs' AND a.privilege_type = 'INSERT' AND a.grantee <> c.relowner)",
      schema);
}

Status grant_run(Connection& connection, const std::string& schema, const std::string& role) {
  const auto known = connection.ask("SELECT count(*) FROM pg_roles WHERE rolname = " + literal(role));
  if (!known) return known.error();
  if (*known == "0")
    return Error{ErrorCode::not_found,
                 format("there is no role {}; make it with CREATE ROLE {} LOGIN, then run pawl init again", role,
                        quoted_name(role))};
  const auto owns = connection.ask(
      "SELECT r.rolsuper OR pg_has_role(r.oid, n.nspowner, 'MEMBER') FROM pg_roles r, pg_namespace n"
      " WHERE r.rolname = " +
      literal(role) + " AND n.nspname = " + literal(schema));
  if (!owns) return owns.error();
  if (*owns != "f")
    return Error{ErrorCode::invalid,
                 format("the role {} owns the schema {}, is a member of its owner, or is a superuser: it can do "
                        "everything there; name one that cannot",
                        role, schema)};
  return connection.execute(grants("ARRAY[" + literal(role) + "]::name[]", schema));
}

}  // namespace pawl::store::postgres
