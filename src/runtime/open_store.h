// From the `store` option to a Store: the only place that knows which stores exist.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "pawl/options.h"
#include "pawl/query.h"
#include "pawl/result.h"
#include "store/duplex_store.h"
#include "store/store.h"
#include "store/transaction.h"

namespace pawl::runtime {

enum class StoreKind : std::uint8_t { memory, sqlite, postgres, redis };
Result<StoreKind> kind_of_store(const std::string& store);

struct OpenedStore {
  std::unique_ptr<store::Store> store;
  store::DuplexStore* duplex = nullptr;  // its part for collation duplex; null: it has none
  // Transactions for workers' own SQL; a worker that never returns may outlive the store. Null: it has none, for this
  // reason.
  std::shared_ptr<store::TransactionStore> transactions;
  std::string no_transactions = "this store has no transactions for a worker's own SQL";
  Duration lease{0};                // for the engine's lanes
  std::uint32_t lanes = 1;          // of a new pool, unless the caller sets the number
  bool rings_with_commits = false;  // the commit's own transaction sends the notification
  // Problems that a person should handle.
  std::function<void(std::function<void(const std::string&)>)> on_problem = [](const auto&) {};
  std::function<RuntimeStats()> stats;
  // For people. Of a file: the process that owns it; none: nobody does.
  std::function<std::optional<std::uint64_t>()> owner = [] { return std::optional<std::uint64_t>(); };
  std::function<std::optional<std::uint64_t>()> bytes = [] {
    return std::optional<std::uint64_t>();
  };  // none: not known
  // Beyond reading every job. And a copy that is whole.
  std::function<Status()> verify = [] { return Status(); };
  std::function<Status(const std::string& path)> backup = [](const std::string&) {
    return Status(
        Error{ErrorCode::unsupported,
              "only a SQLite file is copied by pawl; a server has its own way (pg_dump, a snapshot of Redis), "
              "and pawl move takes a stopped store into a file"});
  };
  using Settings = std::vector<std::pair<std::string, std::string>>;
  std::function<Settings()> settings = [] { return Settings(); };
};

Result<OpenedStore> open_store(const RuntimeOptions& options, const Clock& clock);

}  // namespace pawl::runtime
