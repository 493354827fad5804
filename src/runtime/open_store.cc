#include "runtime/open_store.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <filesystem>
#include <string_view>
#include <utility>

#include "base/limits.h"
#include "store/memory/store.h"
#include "store/postgres/store.h"
#include "store/redis/store.h"
#include "store/sqlite/owner_lock.h"
#include "store/sqlite/owner_record.h"
#include "store/sqlite/store.h"

namespace pawl::runtime {

namespace {

template <std::size_t Count>
bool begins_with(const std::string& text, const std::array<std::string_view, Count>& beginnings) {
  return std::any_of(beginnings.begin(), beginnings.end(), [&](std::string_view one) { return text.starts_with(one); });
}

Result<OpenedStore> open_memory(const Clock& clock) {
  OpenedStore opened;
  auto memory = std::make_unique<store::memory::Store>(clock);
  opened.duplex = &memory->duplex();
  opened.no_transactions = "a store in memory has no SQL: serve_transaction() needs a SQLite file or postgres://...";
  opened.store = std::move(memory);
  opened.lease = std::chrono::hours(24);
  opened.stats = [] { return RuntimeStats{}; };
  return opened;
}

// The file and its log.
std::optional<std::uint64_t> bytes_at(const std::string& path) {
  std::error_code failed;
  const std::uint64_t file = std::filesystem::file_size(path, failed);
  if (failed) return std::nullopt;
  const std::uint64_t log = std::filesystem::file_size(path + "-wal", failed);
  return failed ? file : file + log;
}

OpenedStore::Settings server_settings(const std::string& kind, Duration lease,
                                      const std::vector<std::string>& weaknesses) {
  OpenedStore::Settings settings{
      {"kind", kind},
      {"lease", std::to_string(std::chrono::duration_cast<std::chrono::milliseconds>(lease).count()) + " ms"}};
  for (const std::string& weakness : weaknesses) settings.emplace_back("weaker than promised", weakness);
  return settings;
}

Result<OpenedStore> open_sqlite(const RuntimeOptions& runtime, const Clock& clock) {
  store::sqlite::Options options;
  options.clock = &clock;
  options.log_bytes_max = runtime.log_bytes_max;
  options.compress_payloads = runtime.compress_payloads;
  auto sqlite = store::sqlite::Store::open(runtime.store, options);
  if (!sqlite) return sqlite.error();
  store::sqlite::Store* raw = sqlite->get();
  OpenedStore opened;
  opened.on_problem = [raw](auto report) { raw->on_problem(std::move(report)); };
  opened.stats = [raw] {
    const auto stats = raw->stats();
    return RuntimeStats{stats.commits, stats.operations, stats.row_writes, stats.log_bytes};
  };
  opened.owner = [path = runtime.store]() -> std::optional<std::uint64_t> {
    if (!store::sqlite::OwnerLock::is_taken(path)) return std::nullopt;
    const auto record = store::sqlite::OwnerRecord::read(store::sqlite::owner_path(path));
    return record ? record->process : 0;
  };
  opened.bytes = [path = runtime.store] { return bytes_at(path); };
  opened.verify = [raw] { return raw->verify(); };
  opened.backup = [raw](const std::string& path) { return raw->copy_to(path); };
  opened.settings = [log_bytes_max = runtime.log_bytes_max] {
    return OpenedStore::Settings{{"kind", "SQLite file"},
                                 {"synchronous", "FULL"},
                                 {"log at the most", std::to_string(log_bytes_max >> 20U) + " MB"}};
  };
  opened.duplex = &raw->duplex();
  opened.transactions = raw->transactions();
  opened.store = std::move(*sqlite);
  return opened;
}

Duration lease_of(const RuntimeOptions& runtime) {
  return runtime.lease == Duration{0} ? Duration(limits::server_lease) : runtime.lease;
}

Result<OpenedStore> open_postgres(const RuntimeOptions& runtime) {
  store::postgres::Options options;
  if (runtime.accept_weaker_store) options.durability = store::postgres::Durability::as_configured;
  auto postgres = store::postgres::Store::open(runtime.store, options);
  if (!postgres) return postgres.error();
  store::postgres::Store* raw = postgres->get();
  OpenedStore opened;
  opened.on_problem = [raw](auto report) {
    for (const std::string& weakness : raw->weaknesses()) report(weakness);
    raw->on_problem(std::move(report));
  };
  opened.stats = [raw] {
    const auto stats = raw->stats();
    return RuntimeStats{stats.commits, stats.operations};
  };
  opened.duplex = &raw->duplex();
  opened.rings_with_commits = true;
  opened.lease = lease_of(runtime);
  opened.transactions = raw->transactions(opened.lease / limits::transaction_share_of_lease);
  opened.settings = [raw, lease = opened.lease] { return server_settings("PostgreSQL", lease, raw->weaknesses()); };
  opened.store = std::move(*postgres);
  opened.lanes = limits::server_lanes;
  return opened;
}

Result<OpenedStore> open_redis(const RuntimeOptions& runtime) {
  store::redis::Options options;
  options.accept_weaker = runtime.accept_weaker_store;
  auto redis = store::redis::Store::open(runtime.store, options);
  if (!redis) return redis.error();
  store::redis::Store* raw = redis->get();
  OpenedStore opened;
  opened.on_problem = [raw](const auto& report) {
    for (const auto& weakness : raw->weaknesses()) report(weakness.what);
  };
  opened.stats = [] { return RuntimeStats{}; };
  opened.duplex = &raw->duplex();
  opened.no_transactions =
      "Redis has no transaction that a worker's SQL could join: serve_transaction() needs a SQLite file or "
      "postgres://...; here"
      " use serve(), and give Work::key() to whoever must not act twice";
  opened.store = std::move(*redis);
  opened.lease = lease_of(runtime);
  opened.settings = [raw, lease = opened.lease] {
    std::vector<std::string> weaknesses;
    for (const auto& weakness : raw->weaknesses()) weaknesses.push_back(weakness.what);
    return server_settings("Redis", lease, weaknesses);
  };
  opened.lanes = raw->usual_lanes();
  return opened;
}

constexpr std::array<std::string_view, 2> postgres_addresses{"postgres://", "postgresql://"};
constexpr std::array<std::string_view, 7> redis_addresses{
    "redis://",          "rediss://",          "redis-cluster://", "rediss-cluster://",
    "redis-sentinel://", "rediss-sentinel://", "redis+unix://"};

}  // namespace

Result<StoreKind> kind_of_store(const std::string& store) {
  if (store == ":memory:") return StoreKind::memory;
  if (begins_with(store, postgres_addresses)) return StoreKind::postgres;
  if (begins_with(store, redis_addresses)) return StoreKind::redis;
  if (const auto scheme = store.find("://"); scheme != std::string::npos && scheme > 0)
    return Error{ErrorCode::invalid,
                 "there is no store " + store.substr(0, scheme) +
                     "://; a store is the path of a SQLite file, postgres://..., redis://..., rediss://..., "
                     "redis-cluster://... or redis-sentinel://..."};
  return StoreKind::sqlite;
}

Result<OpenedStore> open_store(const RuntimeOptions& runtime, const Clock& clock) {
  const auto kind = kind_of_store(runtime.store);
  if (!kind) return kind.error();
  if (runtime.compress_payloads != 0 && *kind != StoreKind::sqlite)
    return Error{ErrorCode::unsupported, "only a SQLite file compresses payloads (compress_payloads)"};
  switch (*kind) {
    case StoreKind::memory:
      return open_memory(clock);
    case StoreKind::postgres:
      return open_postgres(runtime);
    case StoreKind::redis:
      return open_redis(runtime);
    case StoreKind::sqlite:
      break;
  }
  return open_sqlite(runtime, clock);
}

}  // namespace pawl::runtime
