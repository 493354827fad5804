#include "base/clock.h"

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

}  // namespace pawl
