// Runtime::open: from options to a runtime over an opened store.
#include "base/clock.h"
#include "base/format.h"
#include "base/limits.h"
#include "pawl/runtime.h"
#include "runtime/local_runtime.h"
#include "runtime/open_store.h"

namespace pawl {

Result<std::unique_ptr<Runtime>> Runtime::open(RuntimeOptions options) {
  const auto named = check_name("pool", options.pool);
  if (!named) return named.error();
  const auto within = [](const char* what, std::uint64_t value, std::uint64_t most) -> Status {
    if (value >= 1 && value <= most) return {};
    return Error{ErrorCode::invalid, format("{} is {}; it must be between 1 and {}", what, value, most)};
  };
  for (const Status& checked : {within("worker_threads", options.worker_threads, limits::worker_threads_max),
                                within("worker_queue", options.worker_queue, limits::worker_queue_max),
                                within("lanes", options.lanes, limits::lanes_per_pool_max),
                                within("log_bytes_max", options.log_bytes_max, limits::log_bytes_ceiling)})
    if (!checked) return checked.error();

  auto opened = runtime::open_store(options, process_clock());
  if (!opened) return opened.error();
  const Pool pool(options.pool);
  auto info = opened->store->read_pool(pool);
  if (!info) return info.error();
  if (!*info) {
    const store::Operation open_pool = store::OpenPool{pool, options.lanes};
    const auto made = opened->store->commit({&open_pool, 1});
    if (!made) return made.error();
    info = opened->store->read_pool(pool);
    if (!info) return info.error();
    if (!*info) return Error{ErrorCode::retry_later, format("pool {}: {}", options.pool, made->front().reason)};
  }
  return std::unique_ptr<Runtime>(std::make_unique<runtime::LocalRuntime>(std::move(options), std::move(*opened), **info));
}

}  // namespace pawl
