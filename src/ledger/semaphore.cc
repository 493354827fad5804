#include "ledger/semaphore.h"

#include "base/format.h"

namespace pawl::ledger {

Result<Semaphore> Semaphore::decode(std::int64_t stored) {
  if (stored < 0) return Error{ErrorCode::corrupt, format("semaphore {} is below zero", stored)};
  if (stored > open_max) return Error{ErrorCode::corrupt, format("semaphore {} is above {}", stored, open_max)};
  return Semaphore(stored);
}

Result<Semaphore::Step> Semaphore::step(std::int64_t delta, std::int64_t threshold) const {
  // Compared before adding, so that no delta can overflow the sum.
  if (delta < -value_)
    return Error{ErrorCode::corrupt, format("a step of {} takes the semaphore {} below zero", delta, value_)};
  if (delta > open_max - value_)
    return Error{ErrorCode::over_limit,
                 format("a step of {} takes the semaphore {} above {} open activities", delta, value_, open_max)};
  const Semaphore after(value_ + delta);
  return Step{after, after.value_ == threshold};
}

}  // namespace pawl::ledger
