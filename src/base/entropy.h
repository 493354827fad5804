// Unpredictable randomness from the operating system. Only for secrets: everything else is drawn from a seeded Random,
// so that it can be repeated.
#pragma once

#include "base/siphash.h"
#include "pawl/result.h"

namespace pawl {

Result<Bits128> draw_entropy();

}  // namespace pawl
