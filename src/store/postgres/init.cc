#include "store/postgres/init.h"

#include "store/postgres/connection.h"
#include "store/postgres/open.h"
#include "store/postgres/rights.h"
#include "store/postgres/schema.h"

namespace pawl::store::postgres {

Result<Initialized> init(const std::string& address, const InitOptions& options) {
  if (const auto named = check_schema_name(options.schema); !named) return named.error();
  const Address place{address, options.schema, limits::statement_wait, limits::lock_wait, limits::transaction_idle_max};
  auto opened = Connection::open(place);
  if (!opened) return opened.error();
  Connection& connection = **opened;
  if (const auto kept = check_session(connection, place); !kept) return kept.error();
  auto fit = check_server(connection, options.durability);
  if (!fit) return fit.error();
  Initialized done;
  done.weaknesses = std::move(*fit);
  const auto before = read_layout(connection, options.schema);
  if (!before) return before.error();
  done.before = before->version;
  if (const auto migrated = migrate(connection, options.schema, migrations()); !migrated) return migrated.error();
  if (options.run_role)
    if (const auto granted = grant_run(connection, options.schema, *options.run_role); !granted) return granted.error();
  const auto now = read_layout(connection, options.schema);
  if (!now) return now.error();
  done.version = now->version;
  const auto role = connection.ask("SELECT current_user");
  if (!role) return role.error();
  done.owner = *role;
  return done;
}

}  // namespace pawl::store::postgres
