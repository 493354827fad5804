#include "graphs/stores.h"

#include "base/format.h"
#include "store/forward_store.h"
#include "store/memory/store.h"
#include "store/postgres/schema_test.h"
#include "store/redis/server_test.h"
#include "store/redis/store.h"
#include "store/sqlite/store.h"
#include "testing.h"

namespace pawl::graphs {

namespace {

Result<OpenedStore> open_sqlite(const Clock& clock) {
  const auto folder = std::make_shared<testing::TempDir>();
  store::sqlite::Options options;
  options.clock = &clock;
  auto opened = store::sqlite::Store::open(*folder / "pawl.db", options);
  if (!opened) return opened.error();
  return OpenedStore{folder, std::move(*opened)};
}

// The clock of the current case.
class PassedClock final : public Clock {
 public:
  Instant now() const override { return clock_->now(); }
  Duration monotonic() const override { return clock_->monotonic(); }
  void pass(const Clock& clock) { clock_ = &clock; }

 private:
  const Clock* clock_ = nullptr;
};

// One store for all cases, emptied between them: connecting and preparing statements takes longer than a case. It keeps
// only which lanes a case owned, and lanes get new numbers each time.
class KeptPostgres {
 public:
  static KeptPostgres& get() {
    static KeptPostgres one;
    return one;
  }
  store::Store* open(const Clock& clock) {
    clock_.pass(clock);
    store::postgres::Options options;
    options.clock = &clock_;
    if (store_ == nullptr) store_ = schema_.open(options);
    return store_.get();
  }
  void empty() { store::postgres::SharedServer::get().empty(schema_.name()); }

 private:
  PassedClock clock_;
  store::postgres::TestSchema schema_;
  std::unique_ptr<store::Store> store_;  // goes before its schema
};
// Batches of reads stay batches.
class Borrowed final : public store::ForwardStore {
 public:
  using ForwardStore::ForwardStore;
  std::vector<store::ReadAnswer> read(std::span<const store::Read> reads) override { return inner_.read(reads); }
};
struct EmptiedPostgres {
  ~EmptiedPostgres() { KeptPostgres::get().empty(); }
};

Result<OpenedStore> open_postgres(const Clock& clock) {
  store::Store* kept = KeptPostgres::get().open(clock);
  if (kept == nullptr) return Error{ErrorCode::retry_later, "no PostgreSQL"};
  return OpenedStore{std::make_shared<EmptiedPostgres>(), std::make_unique<Borrowed>(*kept)};
}

store::redis::TestServer& synced_server() {
  store::redis::ServerOptions options;
  options.appendfsync = "always";
  static store::redis::TestServer server(options);
  return server;
}

// Nothing of a case is left after it.
struct Emptied {
  ~Emptied() { synced_server().ask({"FLUSHALL"}); }
};
struct EmptiedCluster {
  ~EmptiedCluster() {
    auto& cluster = store::redis::shared_cluster();
    for (std::size_t i = 0; i < cluster.size(); ++i) cluster.node(i).ask({"FLUSHALL"});
  }
};

Result<OpenedStore> open_redis(const std::string& url, std::shared_ptr<void> ground, const Clock& clock) {
  store::redis::Options options;
  options.clock = &clock;
  options.accept_weaker = true;  // a cluster of the tests syncs every second
  auto opened = store::redis::Store::open(url, options);
  if (!opened) return opened.error();
  return OpenedStore{std::move(ground), std::move(*opened)};
}

}  // namespace

Result<OpenedStore> open_store(const std::string& name, const Clock& clock) {
  if (name == "memory") return OpenedStore{nullptr, std::make_unique<store::memory::Store>(clock)};
  if (name == "sqlite") return open_sqlite(clock);
  if (name == "postgres") return open_postgres(clock);
  if (name == "redis") return open_redis(synced_server().url(), std::make_shared<Emptied>(), clock);
  if (name == "redis_cluster")
    return open_redis(store::redis::shared_cluster().url(), std::make_shared<EmptiedCluster>(), clock);
  return Error{ErrorCode::invalid, format("there is no store {}", name)};
}

}  // namespace pawl::graphs
