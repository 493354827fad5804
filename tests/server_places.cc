// The servers are started once for the program, when a test first needs them, and sync every commit.
#include "places.h"
#include "store/postgres/schema_test.h"
#include "store/redis/server_test.h"

namespace pawl::testing {

namespace {

// The schema that a runtime makes; emptied after the test, which is faster than making it again.
struct Postgres final : Place {
  ~Postgres() override { store::postgres::SharedServer::get().empty("pawl"); }
  std::string address() const override { return store::postgres::SharedServer::get().address(); }
};

store::redis::TestServer& synced_server() {
  store::redis::ServerOptions options;
  options.appendfsync = "always";
  static store::redis::TestServer server(options);
  return server;
}
struct Redis final : Place {
  ~Redis() override { synced_server().ask({"FLUSHALL"}); }
  std::string address() const override { return synced_server().url(); }
};

}  // namespace

const std::vector<PlaceKind>& place_kinds() {
  static const std::vector<PlaceKind> kinds = {
      {"postgres", [] { return std::unique_ptr<Place>(std::make_unique<Postgres>()); }, true, true},
      {"redis", [] { return std::unique_ptr<Place>(std::make_unique<Redis>()); }, true, true}};
  return kinds;
}

}  // namespace pawl::testing
