// ServerTime: a server's clock, as this process knows it: the time of an answer, and what has elapsed here since.
//
// An answer is old when it arrives, so its time is behind the server's clock, never ahead: of several answers, the one
// that is least behind counts. A new one that is nearer moves this clock forward, so what waits on it can be early by
// as much as the answers before were late; therefore a store asks several times before it starts. A good answer counts
// for less with time, since clocks drift apart, but not for nothing: after a minute of slow answers it is still the
// best. This clock never goes back; if the server's was set back, it stands until that has caught up.
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
  static constexpr int first_questions = 5;  // of a store that opens

  // `elapsed` is read when the answer has arrived.
  void observe(Instant said, Duration elapsed) {
    const std::lock_guard lock(mutex_);
    const std::int64_t offset = said.micros() - elapsed.count();
    if (offset >= best_at(elapsed)) take(offset, elapsed);
    if (elapsed - window_began_ >= window) {
      // No answer is so late for so long: the server's clock was set back.
      if (within_ != none && within_ < best_at(elapsed) - set_back_min.count()) take(within_, elapsed);
      window_began_ = elapsed;
      within_ = none;
    }
    within_ = std::max(within_, offset);
    offset_ = best_at(elapsed);
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
  static constexpr std::int64_t drift_per_million = 100;  // of two clocks that are not corrected
  static constexpr Duration window = std::chrono::seconds(30);
  static constexpr Duration set_back_min = std::chrono::seconds(1);

  void take(std::int64_t offset, Duration elapsed) {
    best_ = offset;
    best_since_ = elapsed;
  }
  // What the best answer is worth now.
  std::int64_t best_at(Duration elapsed) const {
    if (best_ == none) return none;
    return best_ - (elapsed - best_since_).count() * drift_per_million / 1'000'000;
  }

  std::mutex mutex_;
  std::int64_t best_ = none;  // difference to elapsed time; guarded by mutex_, as the next ones
  Duration best_since_{0};
  Duration window_began_{0};
  std::int64_t within_ = none;  // the best one since then
  std::atomic<std::int64_t> offset_{0};
  mutable std::atomic<std::int64_t> latest_{0};  // the latest time that was returned
};

}  // namespace pawl::store
