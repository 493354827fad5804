// What is left to do in a target with direct sends when its source sent through outboxes: nothing would deliver the
// waiting rows, and later sends must not overtake them.
#pragma once

#include <cstdint>

#include "store/store.h"

namespace pawl::store::transfer {

// Delivers all rows, in order, and deletes them. Returns the number of messages.
Result<std::uint64_t> settle_outboxes(Store& store);

}  // namespace pawl::store::transfer
