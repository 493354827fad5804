// The functions that math and number both offer.
#pragma once

#include "mapping/functions/functions.h"

namespace pawl::mapping {

Result<Operand> maximum(Call& call, Operands operands);
Result<Operand> minimum(Call& call, Operands operands);
Result<Operand> power(Call& call, Operands operands);
Result<Operand> rounded(Call& call, Operands operands);

}  // namespace pawl::mapping
