#include "base/clock.h"

#include <algorithm>
#include <chrono>

namespace pawl {

namespace {
template <class C>
std::int64_t micros_of() {
  return std::chrono::duration_cast<std::chrono::microseconds>(C::now().time_since_epoch()).count();
}
}  // namespace

Instant SystemClock::now() const { return Instant::from_micros(micros_of<std::chrono::system_clock>()); }
Duration SystemClock::monotonic() const { return Duration(micros_of<std::chrono::steady_clock>()); }

SteadyClock::SteadyClock(const Clock& source) : source_(source), offset_(look()) {}

// The wall time first: a thread that is delayed between the two sees too little, never too much, and the largest is
// right.
std::int64_t SteadyClock::look() const {
  const std::int64_t wall = source_.now().micros();
  return wall - source_.monotonic().count();
}

Instant SteadyClock::now() const {
  const std::int64_t seen = look();
  std::int64_t offset = offset_.load(std::memory_order_relaxed);
  while (seen > offset && !offset_.compare_exchange_weak(offset, seen, std::memory_order_relaxed)) {
  }
  return Instant::from_micros(source_.monotonic().count() + std::max(offset, seen));
}

Duration SteadyClock::ahead() const {
  return Duration(std::max<std::int64_t>(offset_.load(std::memory_order_relaxed) - look(), 0));
}

const SteadyClock& process_clock() {
  static const SystemClock system;
  static const SteadyClock clock(system);
  return clock;
}

}  // namespace pawl
