// Time as the engine sees it: microseconds since the Unix epoch, always read through a Clock.
#pragma once

#include <chrono>
#include <cstdint>

namespace pawl {

using Duration = std::chrono::microseconds;

// A point in time. A bare integer never means a time.
class Instant {
 public:
  constexpr Instant() = default;
  static constexpr Instant from_micros(std::int64_t micros) { return Instant(micros); }
  constexpr std::int64_t micros() const { return micros_; }

  friend constexpr Instant operator+(Instant at, Duration by) { return Instant(at.micros_ + by.count()); }
  friend constexpr Instant operator-(Instant at, Duration by) { return Instant(at.micros_ - by.count()); }
  friend constexpr Duration operator-(Instant a, Instant b) { return Duration(a.micros_ - b.micros_); }
  friend constexpr auto operator<=>(Instant, Instant) = default;

 private:
  explicit constexpr Instant(std::int64_t micros) : micros_(micros) {}
  std::int64_t micros_ = 0;
};

}  // namespace pawl
