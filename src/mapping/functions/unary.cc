// unary: JavaScript's operators with one operand.
#include "mapping/convert.h"
#include "mapping/functions/operands.h"

namespace pawl::mapping {

namespace {

Result<Operand> logical_not(Call&, Operands operands) { return Operand::boolean(!truthy(operands[0])); }
Result<Operand> positive(Call& call, Operands operands) { return Operand::number(number_at(call, operands, 0)); }
Result<Operand> negative(Call& call, Operands operands) { return Operand::number(-number_at(call, operands, 0)); }
Result<Operand> bitwise_not(Call& call, Operands operands) {
  return Operand::number(~to_int32(number_at(call, operands, 0)));
}

constexpr Function table[] = {
    {"unary.not", 1, 1, Work::constant, logical_not},
    {"unary.positive", 1, 1, Work::scans, positive, OnMissing::refuses},
    {"unary.negative", 1, 1, Work::scans, negative, OnMissing::refuses},
    {"unary.bitwise_not", 1, 1, Work::scans, bitwise_not, OnMissing::refuses},
};

}  // namespace

std::span<const Function> unary_functions() { return table; }

}  // namespace pawl::mapping
