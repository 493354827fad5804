// pawl init STORE: creates or upgrades the schema of a PostgreSQL store, and gives a role the rights to run it, and no
// others.
#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <boost/json.hpp>
#include <memory>

#include "base/utf8.h"
#include "cli/commands.h"
#include "cli/job_target.h"
#include "store/postgres/init.h"

namespace pawl::cli {

namespace {

struct InitArguments {
  StoreOptions store;
  std::string run_role;
};

bool is_postgres(const std::string& store) {
  return store.starts_with("postgres://") || store.starts_with("postgresql://");
}

int run_init(const InitArguments& options) {
  if (!is_postgres(options.store.store))
    return fail("init", {ErrorCode::invalid,
                         "a PostgreSQL store is made by pawl init postgres://...; other stores are made when they are "
                         "first used"});
  store::postgres::InitOptions wanted;
  if (options.store.accept_weaker) wanted.durability = store::postgres::Durability::as_configured;
  if (!options.run_role.empty()) wanted.run_role = options.run_role;
  const auto done = store::postgres::init(options.store.store, wanted);
  if (!done) return fail("init", done.error());
  for (const std::string& weakness : done->weaknesses) fmt::print(stderr, "pawl init: {}\n", printable(weakness));
  if (options.store.json) {
    boost::json::object said{
        {"schema", wanted.schema}, {"version", done->version}, {"before", done->before}, {"owner", done->owner}};
    if (wanted.run_role) said["run_role"] = *wanted.run_role;
    fmt::print("{}\n", boost::json::serialize(said));
    return 0;
  }
  if (done->before < 0)
    fmt::print("the schema {} is made, version {}\n", wanted.schema, done->version);
  else if (done->before < done->version)
    fmt::print("the schema {} is brought from version {} to {}\n", wanted.schema, done->before, done->version);
  else
    fmt::print("the schema {} has version {} already\n", wanted.schema, done->version);
  if (wanted.run_role)
    fmt::print("the role {} can run it, and cannot change or drop its tables\n", printable(*wanted.run_role));
  return 0;
}

}  // namespace

void add_init(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<InitArguments>();
  CLI::App* command =
      app.add_subcommand("init", "Make the schema of a PostgreSQL store, or bring it forward, as its owner");
  command->add_option("store", options->store.store, "postgres://owner@host/database?...")
      ->envname("PAWL_STORE")
      ->required();
  command->add_option("--run-role", options->run_role, "A role that gets the rights to run jobs there, and no others");
  command->add_flag("--accept-weaker-store", options->store.accept_weaker,
                    "Use a server whose settings may lose what it acknowledged (fsync and the like)");
  command->add_flag("--json", options->store.json, "Machine-readable output");
  command->callback([options, &exit_code] { exit_code = run_init(*options); });
}

}  // namespace pawl::cli
