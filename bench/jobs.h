// What the benchmarks that run jobs share: checked results, graphs, files.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "pawl/pawl.h"

namespace pawl::bench {

template <class T>
T must(Result<T> result) {
  if (result) return std::move(*result);
  fmt::print(stderr, "{}\n", to_string(result.error()));
  std::exit(1);
}
inline void must(const Status& status) {
  if (status) return;
  fmt::print(stderr, "{}\n", to_string(status.error()));
  std::exit(1);
}

// All workers have the topic "noop".
AppText chain(std::uint32_t length);   // "chain": a trigger and `length` workers, one after the other
AppText fan_out(std::uint32_t width);  // "fan": a trigger and `width` workers in parallel
void remove_store(const std::string& path);

}  // namespace pawl::bench
