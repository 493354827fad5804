#include "mapping/operand.h"

#include <cmath>

namespace pawl::mapping {

Operand Operand::number(double number) {
  constexpr double safe_integer_max = 9007199254740992.0;  // 2^53
  const bool whole = std::fabs(number) <= safe_integer_max && std::trunc(number) == number;
  if (whole && !(number == 0 && std::signbit(number)))
    return Operand(boost::json::value(static_cast<std::int64_t>(number)));
  return Operand(boost::json::value(number));
}

}  // namespace pawl::mapping
