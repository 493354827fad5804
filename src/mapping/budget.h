// What one evaluation may still spend. A hostile expression uses up its budget, not the engine's time or memory. The
// depth of an expression is limited when it is compiled, the depth of the values it builds by value_depth_max
// (limits.h).
#pragma once

#include "mapping/limits.h"

#include <cstdint>

namespace pawl::mapping {

// One per evaluation, or one for all expressions of an activity's step; never shared by threads.
// Once a spend was refused every later spend is refused too.
class Budget {
 public:
  struct Limits {
    std::uint64_t steps = evaluation_steps_max;  // one per value, call and element visited
    std::uint64_t bytes = evaluation_bytes_max;  // of text and values made, about
  };

  Budget() : Budget(Limits{}) {}
  explicit Budget(Limits limits) : steps_(limits.steps), bytes_(limits.bytes) {}

  [[nodiscard]] bool spend_steps(std::uint64_t count) { return spend(steps_, count); }
  [[nodiscard]] bool spend_bytes(std::uint64_t count) { return spend(bytes_, count); }

  bool exhausted() const { return exhausted_; }
  std::uint64_t steps_left() const { return steps_; }
  std::uint64_t bytes_left() const { return bytes_; }

 private:
  bool spend(std::uint64_t& left, std::uint64_t count) {
    if (exhausted_ || count > left) [[unlikely]] {
      exhausted_ = true;
      return false;
    }
    left -= count;
    return true;
  }

  std::uint64_t steps_;
  std::uint64_t bytes_;
  bool exhausted_ = false;
};

}  // namespace pawl::mapping
