// The token of a work item's nth run: whoever was given an earlier run is stale. A local claim's owner may give its
// run back, and the number is used again: under the epoch of whoever claims it then, so that the token is another one.
#pragma once

#include "base/random.h"
#include "core/guid.h"
#include "core/ids.h"

namespace pawl::core {

constexpr WorkToken token_of(const Guid& request, std::uint32_t run, Epoch epoch = Epoch(0)) {
  const std::uint64_t hand_out = epoch == Epoch(0) ? run : Random::mix(epoch.raw()) + run;
  return WorkToken((Random::mix(request.low + hand_out) >> 1) | 1);  // fits a signed integer, never 0
}

}  // namespace pawl::core
