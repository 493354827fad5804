// Semaphore: the open obligations of a job. Every activity that still owes an end counts 1.
//
// 1. Never below zero, never above open_max. A failed, interrupted or paused job is a state of its
//    own; no magic number says it here.
// 2. One call is one compound step: the new value and whether it hit the threshold are decided
//    together, and a store computes the same in the statement that commits it.
// A small value: copy it. It holds no lock and does no I/O.
#pragma once

#include "pawl/result.h"

#include <compare>
#include <cstdint>

namespace pawl::ledger {

class Semaphore {
 public:
  // Nine digits: exact in every store and in every script's floating-point number.
  static constexpr std::int64_t open_max = 999'999'999;

  struct Step;

  constexpr Semaphore() = default;  // no obligation is open
  static Result<Semaphore> decode(std::int64_t stored);
  constexpr std::int64_t value() const { return value_; }

  // Hit means "equals the threshold afterwards". Fails with corrupt below zero, with over_limit
  // above open_max; any integer may be a threshold, a negative one is never hit.
  Result<Step> step(std::int64_t delta, std::int64_t threshold) const;

  // The activity ends and its children take over.
  static constexpr std::int64_t concluding(std::int64_t children) { return children - 1; }
  // The activity stays open beside its new children.
  static constexpr std::int64_t pending(std::int64_t children) { return children; }
  // A cycle node hands its own obligation to its pivot.
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
