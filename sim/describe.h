// One line for an operation and its outcome: what `sim --scenario NAME --verbose` prints.
#pragma once

#include <string>

#include "store/operation.h"

namespace pawl::sim {

std::string describe(const store::Operation& operation, const store::Outcome& outcome);

}  // namespace pawl::sim
