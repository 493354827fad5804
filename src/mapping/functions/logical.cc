// logical: && and ||, which give one of their operands, not a boolean. Both operands were already
// evaluated.
#include "mapping/convert.h"
#include "mapping/functions/operands.h"

namespace pawl::mapping {

namespace {

Result<Operand> logical_and(Call&, Operands operands) { return std::move(operands[truthy(operands[0]) ? 1 : 0]); }
Result<Operand> logical_or(Call&, Operands operands) { return std::move(operands[truthy(operands[0]) ? 0 : 1]); }

constexpr Function table[] = {
    {"logical.and", 2, 2, Work::constant, logical_and},
    {"logical.or", 2, 2, Work::constant, logical_or},
};

}  // namespace

std::span<const Function> logical_functions() { return table; }

}  // namespace pawl::mapping
