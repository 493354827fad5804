// ServerTime: a server's clock, as this process knows it: the time of an answer, and what has elapsed here since.
//
// An answer is old when it arrives, so its time is behind the server's clock, never ahead: of several answers, the one
// that is least behind counts. A new one that is nearer moves this clock forward, so what waits on it can be early by
// as much as the first answers were late; therefore a store asks several times before it starts. Answers are forgotten
// after one or two windows, since clocks drift apart. This clock never goes back.
//
// Threads: any.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <limits>
#include <mutex>

#include "pawl/time.h"

namespace pawl::store {

class ServerTime {
 public:
  static constexpr Duration window = std::chrono::seconds(30);
  static constexpr int first_questions = 5;  // of a store that opens

  // `elapsed` is read when the answer has arrived.
  void observe(Instant said, Duration elapsed) {
    const std::lock_guard lock(mutex_);
    if (elapsed - window_began_ >= window || within_ == none) {
      before_ = elapsed - window_began_ >= 2 * window ? none : within_;
      within_ = none;
      window_began_ = elapsed;
    }
    within_ = std::max(within_, said.micros() - elapsed.count());
    offset_ = std::max(before_, within_);
  }

  Instant at(Duration elapsed) const {
    const std::int64_t now = offset_ + elapsed.count();
    std::int64_t latest = latest_;
    while (now > latest && !latest_.compare_exchange_weak(latest, now)) {
    }
    return Instant::from_micros(std::max(now, latest));
  }

 private:
  static constexpr std::int64_t none = std::numeric_limits<std::int64_t>::min();

  std::mutex mutex_;
  Duration window_began_{0};       // guarded by mutex_, as the next two
  std::int64_t before_ = none;     // the largest difference to elapsed time in the window before
  std::int64_t within_ = none;     // and in this one
  std::atomic<std::int64_t> offset_{0};
  mutable std::atomic<std::int64_t> latest_{0};  // the latest time that was returned
};

}  // namespace pawl::store
