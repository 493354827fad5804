// bitwise: JavaScript's operators on 32-bit integers.
#include "mapping/convert.h"
#include "mapping/functions/operands.h"

namespace pawl::mapping {

namespace {

std::int32_t int_at(Call& call, Operands operands, std::size_t index) {
  return to_int32(number_at(call, operands, index));
}

std::uint32_t bits_at(Call& call, Operands operands, std::size_t index) {
  return static_cast<std::uint32_t>(int_at(call, operands, index));
}

Operand signed_result(std::uint32_t bits) { return Operand::number(static_cast<std::int32_t>(bits)); }

Result<Operand> bit_and(Call& call, Operands operands) {
  return signed_result(bits_at(call, operands, 0) & bits_at(call, operands, 1));
}
Result<Operand> bit_or(Call& call, Operands operands) {
  return signed_result(bits_at(call, operands, 0) | bits_at(call, operands, 1));
}
Result<Operand> bit_xor(Call& call, Operands operands) {
  return signed_result(bits_at(call, operands, 0) ^ bits_at(call, operands, 1));
}
Result<Operand> left_shift(Call& call, Operands operands) {
  return signed_result(bits_at(call, operands, 0) << (bits_at(call, operands, 1) & 31U));
}
Result<Operand> right_shift(Call& call, Operands operands) {
  return Operand::number(int_at(call, operands, 0) >> (bits_at(call, operands, 1) & 31U));
}
Result<Operand> unsigned_right_shift(Call& call, Operands operands) {
  return Operand::number(bits_at(call, operands, 0) >> (bits_at(call, operands, 1) & 31U));
}

constexpr Function table[] = {
    {"bitwise.and", 2, 2, Work::scans, bit_and, OnMissing::refuses},
    {"bitwise.or", 2, 2, Work::scans, bit_or, OnMissing::refuses},
    {"bitwise.xor", 2, 2, Work::scans, bit_xor, OnMissing::refuses},
    {"bitwise.leftShift", 2, 2, Work::scans, left_shift, OnMissing::refuses},
    {"bitwise.rightShift", 2, 2, Work::scans, right_shift, OnMissing::refuses},
    {"bitwise.unsignedRightShift", 2, 2, Work::scans, unsigned_right_shift, OnMissing::refuses},
};

}  // namespace

std::span<const Function> bitwise_functions() { return table; }

}  // namespace pawl::mapping
