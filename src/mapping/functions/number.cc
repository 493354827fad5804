// number: JavaScript's Number.
#include "mapping/convert.h"
#include "mapping/functions/math.h"
#include "mapping/functions/operands.h"
#include "mapping/number_text.h"

#include "base/format.h"

#include <cmath>
#include <limits>

namespace pawl::mapping {

namespace {

constexpr double nan = std::numeric_limits<double>::quiet_NaN();
constexpr double digits_max = 100;  // JavaScript's own limit

// The four predicates do not convert: "3" is not a number.
double plain_number(const Operand& operand) { return is_number(operand.value()) ? number_of(operand.value()) : nan; }

Result<Operand> is_finite(Call&, Operands operands) {
  return Operand::boolean(std::isfinite(plain_number(operands[0])));
}
Result<Operand> is_integer(Call&, Operands operands) {
  const double number = plain_number(operands[0]);
  return Operand::boolean(std::isfinite(number) && std::trunc(number) == number);
}
Result<Operand> is_nan(Call&, Operands operands) {
  return Operand::boolean(is_number(operands[0].value()) && std::isnan(plain_number(operands[0])));
}
Result<Operand> is_even(Call& call, Operands operands) {
  return Operand::boolean(std::fmod(number_at(call, operands, 0), 2) == 0);
}
Result<Operand> is_odd(Call& call, Operands operands) {
  return Operand::boolean(std::fabs(std::fmod(number_at(call, operands, 0), 2)) == 1);
}

Result<Operand> parse_float(Call& call, Operands operands) {
  std::string buffer;
  return Operand::number(parse_float_prefix(to_text(operands[0], buffer, call.budget)));
}
Result<Operand> parse_int(Call& call, Operands operands) {
  std::string buffer;
  const int radix = to_int32(number_at(call, operands, 1, 0));
  return Operand::number(parse_int_prefix(to_text(operands[0], buffer, call.budget), radix));
}

struct Format {
  int digits_min;
  std::string (*with_digits)(double, int);
  std::string (*without)(double);
};

std::string fixed_without(double number) { return to_fixed(number, 0); }
constexpr Format fixed_format = {0, to_fixed, fixed_without};
constexpr Format exponential_format = {0, to_exponential, to_exponential_shortest};
constexpr Format precision_format = {1, to_precision, number_text};

template <const Format& form>
Result<Operand> formatted(Call& call, Operands operands) {
  if (operands[0].nullish()) return Operand::null();
  if (!is_number(operands[0].value())) return wants("a number", operands, 0);
  const double number = number_of(operands[0].value());
  const Operand& wanted = operand_at(operands, 1);
  if (!std::isfinite(number)) return text_result(call, number_text(number));
  if (wanted.missing()) return text_result(call, form.without(number));
  const double digits = std::trunc(to_number(wanted, call.budget));
  const double count = std::isnan(digits) ? 0 : digits;
  if (count < form.digits_min || count > digits_max)
    return Error{ErrorCode::invalid, format("wants {} to 100 digits", form.digits_min)};
  return text_result(call, form.with_digits(number, static_cast<int>(count)));
}

Result<Operand> gte(Call& call, Operands operands) {
  return Operand::boolean(!less_than(operands[0], operands[1], call.budget).value_or(true));
}
Result<Operand> lte(Call& call, Operands operands) {
  return Operand::boolean(!less_than(operands[1], operands[0], call.budget).value_or(true));
}
Result<Operand> gt(Call& call, Operands operands) {
  return Operand::boolean(less_than(operands[1], operands[0], call.budget).value_or(false));
}
Result<Operand> lt(Call& call, Operands operands) {
  return Operand::boolean(less_than(operands[0], operands[1], call.budget).value_or(false));
}

constexpr Function table[] = {
    {"number.isFinite", 1, 1, Work::constant, is_finite},
    {"number.isEven", 1, 1, Work::scans, is_even},
    {"number.isOdd", 1, 1, Work::scans, is_odd},
    {"number.isInteger", 1, 1, Work::constant, is_integer},
    {"number.isNaN", 1, 1, Work::constant, is_nan},
    {"number.parseFloat", 1, 1, Work::scans, parse_float},
    {"number.parseInt", 1, 2, Work::scans, parse_int},
    {"number.toFixed", 1, 2, Work::constant, formatted<fixed_format>},
    {"number.toExponential", 1, 2, Work::constant, formatted<exponential_format>},
    {"number.toPrecision", 1, 2, Work::constant, formatted<precision_format>},
    {"number.gte", 2, 2, Work::scans, gte},
    {"number.lte", 2, 2, Work::scans, lte},
    {"number.gt", 2, 2, Work::scans, gt},
    {"number.lt", 2, 2, Work::scans, lt},
    {"number.max", 1, any_count, Work::scans, maximum, OnMissing::refuses},
    {"number.min", 1, any_count, Work::scans, minimum, OnMissing::refuses},
    {"number.pow", 2, 2, Work::scans, power, OnMissing::refuses},
    {"number.round", 1, 1, Work::scans, rounded, OnMissing::refuses},
};

}  // namespace

std::span<const Function> number_functions() { return table; }

}  // namespace pawl::mapping
