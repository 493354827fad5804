// Virtual time. One VirtualClock for the whole world (the store reads it); each engine has its own EngineClock over it,
// which may run fast or slow, shows another time of day, and may be set.
#pragma once

#include <algorithm>
#include <optional>

#include "base/clock.h"
#include "base/seeded_bug.h"

namespace pawl::sim {

class VirtualClock final : public Clock {
 public:
  Instant now() const override { return Instant::from_micros(1'700'000'000'000'000) + at_; }
  Duration monotonic() const override { return at_; }
  void set(Duration at) { at_ = at; }

 private:
  Duration at_{0};
};

class EngineClock final : public Clock {
 public:
  struct Error {
    std::int64_t drift_ppm = 0;  // of its monotonic time: 50,000 gains 5 %
    Duration monotonic_offset{0};
    Duration wall_offset{0};
  };
  EngineClock(const VirtualClock& base, Error error) : base_(base), error_(error), wall_(base, error.wall_offset) {
    boot();
  }

  // As the engine sees it: a SteadyClock over the machine's clock, from the start of the process on.
  Instant now() const override { return seeded(SeededBug::clock_followed_back) ? wall_.now() : steady_->now(); }
  Duration monotonic() const override {
    const std::int64_t at = base_.monotonic().count();
    return Duration(at + at * error_.drift_ppm / 1'000'000) + error_.monotonic_offset;
  }
  // The world's time at which this engine's clock shows `own`, or a little later.
  Duration world_time_of(Duration own) const {
    const std::int64_t shown = (own - error_.monotonic_offset).count();
    return Duration(shown * 1'000'000 / (1'000'000 + error_.drift_ppm) + 1);
  }

  // Sets the machine's wall clock.
  void set_by(Duration by) { wall_.offset += by; }
  // Undoes an earlier step back. A step that a start has corrected since then is not corrected twice.
  void put_right_by(Duration by) {
    const Duration done = std::min(by, put_right_);
    put_right_ -= done;
    wall_.offset += by - done;
  }
  // A process starts. A clock that was set back is correct again by then.
  void boot() {
    const Duration behind = std::max(error_.wall_offset - wall_.offset, Duration{0});
    put_right_ += behind;
    wall_.offset += behind;
    steady_.emplace(wall_);
  }

 private:
  struct Wall final : Clock {
    Wall(const VirtualClock& b, Duration by) : base(b), offset(by) {}
    Instant now() const override { return base.now() + offset; }
    Duration monotonic() const override { return base.monotonic(); }
    const VirtualClock& base;
    Duration offset;
  };
  const VirtualClock& base_;
  const Error error_;
  Wall wall_;
  Duration put_right_{0};  // corrected by starts
  std::optional<SteadyClock> steady_;
};

}  // namespace pawl::sim
