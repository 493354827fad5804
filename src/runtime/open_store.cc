#include "runtime/open_store.h"

#include "store/memory/store.h"
#include "store/sqlite/store.h"

namespace pawl::runtime {

Result<OpenedStore> open_store(const RuntimeOptions& runtime, const Clock& clock) {
  OpenedStore opened;
  if (runtime.store == ":memory:") {
    auto memory = std::make_unique<store::memory::Store>(clock);
    opened.duplex = &memory->duplex();
    opened.store = std::move(memory);
    opened.lease = std::chrono::hours(24);
    opened.on_problem = [](const auto&) {};
    opened.stats = [] { return RuntimeStats{}; };
    return opened;
  }
  store::sqlite::Options options;
  options.clock = &clock;
  options.log_bytes_max = runtime.log_bytes_max;
  auto sqlite = store::sqlite::Store::open(runtime.store, options);
  if (!sqlite) return sqlite.error();
  store::sqlite::Store* raw = sqlite->get();
  opened.on_problem = [raw](auto report) { raw->on_problem(std::move(report)); };
  opened.stats = [raw] {
    const auto stats = raw->stats();
    return RuntimeStats{stats.commits, stats.operations, stats.row_writes, stats.log_bytes};
  };
  opened.duplex = &raw->duplex();
  opened.store = std::move(*sqlite);
  return opened;
}

}  // namespace pawl::runtime
