// Which activity of a bundle gives a payload: what is stored as its output needs not be stored again.
#pragma once

#include <optional>

#include "core/bundle.h"
#include "store/sqlite/payload_limits.h"

namespace pawl::store::sqlite {

// The activity that this bundle concludes with exactly this payload as its output. None: there is none, or the payload
// is so small that a reference would not be smaller.
std::optional<core::ActivitySeq> giver_in(const core::Bundle& bundle, const Payload& payload,
                                          const PayloadLimits& limits);

}  // namespace pawl::store::sqlite
