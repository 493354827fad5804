// A clock that moves only when the test moves it.
#pragma once

#include <algorithm>

#include "base/clock.h"

namespace pawl::testing {

class VirtualClock final : public Clock {
 public:
  explicit VirtualClock(Instant begin) : begin_(begin) {}

  Instant now() const override { return begin_ + at_; }
  Duration monotonic() const override { return at_; }
  void move_to(Duration monotonic) { at_ = std::max(at_, monotonic); }
  Duration monotonic_at(Instant wall) const { return wall - begin_; }

 private:
  const Instant begin_;
  Duration at_{1};  // 0 means "never" in places
};

}  // namespace pawl::testing
