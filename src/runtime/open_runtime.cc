// pawl::open: from options to a runtime over an opened store.
#include <algorithm>
#include <system_error>
#include <utility>

#include "base/clock.h"
#include "base/format.h"
#include "base/limits.h"
#include "pawl/runtime.h"
#include "runtime/local_runtime.h"
#include "runtime/open_store.h"

namespace pawl {

namespace {

constexpr Duration lease_min = std::chrono::milliseconds(100);  // a shorter one would be lost at any short delay

Result<std::shared_ptr<runtime::LocalRuntime>> open_with(RuntimeOptions options) {
  const auto named = check_name("pool", options.pool);
  if (!named) return named.error();
  const auto within = [](const char* what, std::uint64_t value, std::uint64_t most) -> Status {
    if (value >= 1 && value <= most) return {};
    return Error{ErrorCode::invalid, format("{} is {}; it must be between 1 and {}", what, value, most)};
  };
  for (const Status& checked : {within("worker_threads", options.worker_threads, limits::worker_threads_max),
                                within("worker_queue", options.worker_queue, limits::worker_queue_max),
                                within("lanes", std::max(options.lanes, 1u), limits::lanes_per_pool_max),
                                within("log_bytes_max", options.log_bytes_max, limits::log_bytes_ceiling)})
    if (!checked) return checked.error();
  for (const auto& [what, time] :
       {std::pair("worker_grace", options.worker_grace), std::pair("stop_within", options.stop_within)})
    if (time < Duration{0} || time > limits::duration_max)
      return Error{ErrorCode::invalid,
                   format("{} is {} microseconds; it must be between 0 and 100 years", what, time.count())};
  if (options.lease != Duration{0} && (options.lease < lease_min || options.lease > limits::duration_max))
    return Error{ErrorCode::invalid, format("lease is {} microseconds; it must be 0, or between {} and 100 years",
                                            options.lease.count(), lease_min.count())};

  auto opened = runtime::open_store(options, process_clock());
  if (!opened) return opened.error();
  const Pool pool(options.pool);
  auto info = opened->store->read_pool(pool);
  if (!info) return info.error();
  if (!*info) {
    const store::Operation open_pool = store::OpenPool{pool, options.lanes == 0 ? opened->lanes : options.lanes};
    const auto made = opened->store->commit({&open_pool, 1});
    if (!made) return made.error();
    info = opened->store->read_pool(pool);
    if (!info) return info.error();
    if (!*info) return Error{ErrorCode::retry_later, format("pool {}: {}", options.pool, made->front().reason)};
  }
  return std::make_shared<runtime::LocalRuntime>(std::move(options), std::move(*opened), **info);
}

}  // namespace

Result<std::shared_ptr<runtime::LocalRuntime>> runtime::open_local(RuntimeOptions options) {
  try {
    return open_with(std::move(options));
  } catch (const std::system_error& error) {  // a thread of the store could not be created
    return Error{
        ErrorCode::retry_later,
        format("a thread cannot be made: {}; raise the system's limit on threads and memory", error.code().message())};
  }
}

Result<Runtime> open(RuntimeOptions options) {
  auto opened = runtime::open_local(std::move(options));
  if (!opened) return opened.error();
  return Runtime(std::move(*opened));
}

}  // namespace pawl
