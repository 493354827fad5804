// Times: a Duration is a length of time, an Instant is a point in time. Both convert to and from std::chrono.
//
//   const pawl::Instant now = std::chrono::system_clock::now();
//   const pawl::Instant tomorrow = now + std::chrono::hours(24);
//   const std::time_t seconds = std::chrono::system_clock::to_time_t(tomorrow.time_point());
#pragma once

#include <chrono>
#include <cstdint>

namespace pawl {

using Duration = std::chrono::microseconds;

// A point in time: microseconds since the Unix epoch. The default, 0, means "none" where a view defines it so.
class Instant {
 public:
  constexpr Instant() = default;
  // Finer times than a microsecond are rounded down.
  template <class D>
  constexpr Instant(std::chrono::time_point<std::chrono::system_clock, D> at)
      : micros_(std::chrono::floor<Duration>(at.time_since_epoch()).count()) {}
  constexpr std::chrono::time_point<std::chrono::system_clock, Duration> time_point() const {
    return std::chrono::time_point<std::chrono::system_clock, Duration>(Duration(micros_));
  }
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
