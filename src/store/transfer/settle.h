// What is left to do in a target whose sends are direct, when its source sent by outboxes: nobody would deliver what
// waits there, and what is sent later must not overtake it.
#pragma once

#include <cstdint>

#include "store/store.h"

namespace pawl::store::transfer {

// Delivers all of it, in order, and takes it out. How many messages that were.
Result<std::uint64_t> settle_outboxes(Store& store);

}  // namespace pawl::store::transfer
