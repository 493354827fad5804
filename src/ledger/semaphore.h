// Semaphore: the open obligations of a job. Every activity that has not ended yet counts 1.
//
// 1. Never below zero, never above open_max. Failed, interrupted and paused are states of the job, not special numbers
//    here.
// 2. One call is one compound step: the new value and whether it hit the threshold are decided together, and a store
//    computes the same in the statement that commits it.
// A small value: copy it. It holds no lock and does no I/O.
#pragma once

#include "pawl/result.h"

#include <compare>
#include <cstdint>

namespace pawl::ledger {

class Semaphore {
 public:
  // Nine digits: exact in every store and as a floating-point number of any script.
  static constexpr std::int64_t open_max = 999'999'999;

  struct Step;

  constexpr Semaphore() = default;  // no obligation is open
  static Result<Semaphore> decode(std::int64_t stored);
  constexpr std::int64_t value() const { return value_; }

  // Hit means that the value equals the threshold after the step. Fails with corrupt below zero, with over_limit above
  // open_max; any integer may be a threshold, a negative one is never hit.
  Result<Step> step(std::int64_t delta, std::int64_t threshold) const;

  // The activity ends and its children take over.
  static constexpr std::int64_t concluding(std::int64_t children) { return children - 1; }
  // The activity stays open in addition to its new children.
  static constexpr std::int64_t pending(std::int64_t children) { return children; }
  // A cycle node passes its own obligation to its pivot.
  static constexpr std::int64_t cycle() { return 0; }

  friend constexpr auto operator<=>(Semaphore, Semaphore) = default;

 private:
  explicit constexpr Semaphore(std::int64_t value) : value_(value) {}
  std::int64_t value_ = 0;
};

struct Semaphore::Step {
  Semaphore after;
  bool threshold_hit;
};

}  // namespace pawl::ledger
