// The token of a work item's nth run: whoever was given an earlier run is stale.
#pragma once

#include "base/random.h"
#include "core/guid.h"
#include "core/ids.h"

namespace pawl::core {

constexpr WorkToken token_of(const Guid& request, std::uint32_t run) {
  return WorkToken((Random::mix(request.low + run) >> 1) | 1);  // fits a signed integer, never 0
}

}  // namespace pawl::core
