// conditional: choosing and comparing.
#include "mapping/convert.h"
#include "mapping/functions/operands.h"

namespace pawl::mapping {

namespace {

Result<Operand> ternary(Call&, Operands operands) { return std::move(operands[truthy(operands[0]) ? 1 : 2]); }
Result<Operand> equality(Call& call, Operands operands) {
  return Operand::boolean(loose_equal(operands[0], operands[1], call.budget));
}
Result<Operand> inequality(Call& call, Operands operands) {
  return Operand::boolean(!loose_equal(operands[0], operands[1], call.budget));
}
Result<Operand> strict_equality(Call& call, Operands operands) {
  return Operand::boolean(strict_equal(operands[0], operands[1], call.budget));
}
Result<Operand> strict_inequality(Call& call, Operands operands) {
  return Operand::boolean(!strict_equal(operands[0], operands[1], call.budget));
}
// With an operand that is not a number every comparison is false, so "not less" is not "greater or equal".
Result<Operand> greater_than(Call& call, Operands operands) {
  return Operand::boolean(less_than(operands[1], operands[0], call.budget).value_or(false));
}
Result<Operand> is_less_than(Call& call, Operands operands) {
  return Operand::boolean(less_than(operands[0], operands[1], call.budget).value_or(false));
}
Result<Operand> greater_than_or_equal(Call& call, Operands operands) {
  return Operand::boolean(!less_than(operands[0], operands[1], call.budget).value_or(true));
}
Result<Operand> less_than_or_equal(Call& call, Operands operands) {
  return Operand::boolean(!less_than(operands[1], operands[0], call.budget).value_or(true));
}
Result<Operand> nullish(Call&, Operands operands) { return std::move(operands[operands[0].nullish() ? 1 : 0]); }

constexpr Function table[] = {
    {"conditional.ternary", 3, 3, Work::constant, ternary},
    {"conditional.equality", 2, 2, Work::scans, equality},
    {"conditional.strict_equality", 2, 2, Work::scans, strict_equality},
    {"conditional.inequality", 2, 2, Work::scans, inequality},
    {"conditional.strict_inequality", 2, 2, Work::scans, strict_inequality},
    {"conditional.greater_than", 2, 2, Work::scans, greater_than},
    {"conditional.less_than", 2, 2, Work::scans, is_less_than},
    {"conditional.greater_than_or_equal", 2, 2, Work::scans, greater_than_or_equal},
    {"conditional.less_than_or_equal", 2, 2, Work::scans, less_than_or_equal},
    {"conditional.nullish", 2, 2, Work::constant, nullish},
};

}  // namespace

std::span<const Function> conditional_functions() { return table; }

}  // namespace pawl::mapping
