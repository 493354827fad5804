// math: JavaScript's Math, and arithmetic that folds all its operands, arrays flattened.
#include "mapping/functions/math.h"
#include "mapping/convert.h"
#include "mapping/functions/operands.h"

#include "base/random.h"

#include <bit>
#include <cmath>
#include <limits>

namespace pawl::mapping {

namespace json = boost::json;

namespace {

constexpr double nan = std::numeric_limits<double>::quiet_NaN();
constexpr double infinity = std::numeric_limits<double>::infinity();

template <class Visit>
void each_number(Call& call, const Operand& operand, Visit& visit) {
  const json::array* array = operand.value().if_array();
  if (array == nullptr) {
    visit(to_number(operand, call.budget));
    return;
  }
  for (const json::value& element : *array) {
    if (!call.budget.spend_steps(1)) return;
    each_number(call, Operand::borrow(element), visit);
  }
}

using Fold = double (*)(double, double);

// The first number, then each of the others folded into it; `empty` when there is none.
template <Fold fold>
Operand fold_all(Call& call, Operands operands, double empty) {
  double result = empty;
  bool first = true;
  const auto visit = [&result, &first](double number) {
    result = first ? number : fold(result, number);
    first = false;
  };
  for (const Operand& operand : operands) each_number(call, operand, visit);
  return Operand::number(result);
}

double plus(double a, double b) { return a + b; }
double minus(double a, double b) { return a - b; }
double times(double a, double b) { return a * b; }
double over(double a, double b) { return b == 0 ? nan : a / b; }
double larger(double a, double b) { return std::isnan(a) || std::isnan(b) ? nan : (a > b ? a : b); }
double smaller(double a, double b) { return std::isnan(a) || std::isnan(b) ? nan : (a < b ? a : b); }
double hypotenuse(double a, double b) { return std::hypot(a, b); }

Result<Operand> add(Call& call, Operands operands) { return fold_all<plus>(call, operands, 0); }
Result<Operand> subtract(Call& call, Operands operands) { return fold_all<minus>(call, operands, 0); }
Result<Operand> multiply(Call& call, Operands operands) { return fold_all<times>(call, operands, 1); }
Result<Operand> divide(Call& call, Operands operands) { return fold_all<over>(call, operands, nan); }
Result<Operand> hypot(Call& call, Operands operands) {
  auto length = fold_all<hypotenuse>(call, operands, 0);
  return Operand::number(std::fabs(number_of(length.value())));
}

using Unary = double (*)(double);

template <Unary function>
Result<Operand> apply(Call& call, Operands operands) {
  return Operand::number(function(number_at(call, operands, 0)));
}

double leading_zeros(double x) { return std::countl_zero(static_cast<std::uint32_t>(to_int32(x))); }
double to_single(double x) { return static_cast<double>(static_cast<float>(x)); }
double sign(double x) { return std::isnan(x) || x == 0 ? x : (x > 0 ? 1 : -1); }

Result<Operand> atan2(Call& call, Operands operands) {
  return Operand::number(std::atan2(number_at(call, operands, 0), number_at(call, operands, 1)));
}
Result<Operand> integer_multiply(Call& call, Operands operands) {
  const auto x = static_cast<std::uint32_t>(to_int32(number_at(call, operands, 0)));
  const auto y = static_cast<std::uint32_t>(to_int32(number_at(call, operands, 1)));
  return Operand::number(static_cast<std::int32_t>(x * y));
}
Result<Operand> random(Call& call, Operands) {
  if (call.data.random == nullptr) return Error{ErrorCode::unsupported, "no randomness is available here"};
  constexpr double unit = 1.0 / 9007199254740992.0;  // 2^-53
  return Operand::number(static_cast<double>(call.data.random->next() >> 11U) * unit);
}

constexpr Function table[] = {
    {"math.add", 1, any_count, Work::scans, add, OnMissing::refuses},
    {"math.subtract", 1, any_count, Work::scans, subtract, OnMissing::refuses},
    {"math.multiply", 1, any_count, Work::scans, multiply, OnMissing::refuses},
    {"math.divide", 1, any_count, Work::scans, divide, OnMissing::refuses},
    {"math.abs", 1, 1, Work::scans, apply<std::fabs>, OnMissing::refuses},
    {"math.acos", 1, 1, Work::scans, apply<std::acos>, OnMissing::refuses},
    {"math.acosh", 1, 1, Work::scans, apply<std::acosh>, OnMissing::refuses},
    {"math.asin", 1, 1, Work::scans, apply<std::asin>, OnMissing::refuses},
    {"math.asinh", 1, 1, Work::scans, apply<std::asinh>, OnMissing::refuses},
    {"math.atan", 1, 1, Work::scans, apply<std::atan>, OnMissing::refuses},
    {"math.atan2", 2, 2, Work::scans, atan2, OnMissing::refuses},
    {"math.atanh", 1, 1, Work::scans, apply<std::atanh>, OnMissing::refuses},
    {"math.cbrt", 1, 1, Work::scans, apply<std::cbrt>, OnMissing::refuses},
    {"math.ceil", 1, 1, Work::scans, apply<std::ceil>, OnMissing::refuses},
    {"math.clz32", 1, 1, Work::scans, apply<leading_zeros>, OnMissing::refuses},
    {"math.cos", 1, 1, Work::scans, apply<std::cos>, OnMissing::refuses},
    {"math.cosh", 1, 1, Work::scans, apply<std::cosh>, OnMissing::refuses},
    {"math.exp", 1, 1, Work::scans, apply<std::exp>, OnMissing::refuses},
    {"math.expm1", 1, 1, Work::scans, apply<std::expm1>, OnMissing::refuses},
    {"math.floor", 1, 1, Work::scans, apply<std::floor>, OnMissing::refuses},
    {"math.fround", 1, 1, Work::scans, apply<to_single>, OnMissing::refuses},
    {"math.hypot", 1, any_count, Work::scans, hypot, OnMissing::refuses},
    {"math.imul", 2, 2, Work::scans, integer_multiply, OnMissing::refuses},
    {"math.log", 1, 1, Work::scans, apply<std::log>, OnMissing::refuses},
    {"math.log10", 1, 1, Work::scans, apply<std::log10>, OnMissing::refuses},
    {"math.log1p", 1, 1, Work::scans, apply<std::log1p>, OnMissing::refuses},
    {"math.log2", 1, 1, Work::scans, apply<std::log2>, OnMissing::refuses},
    {"math.max", 1, any_count, Work::scans, maximum, OnMissing::refuses},
    {"math.min", 1, any_count, Work::scans, minimum, OnMissing::refuses},
    {"math.pow", 2, 2, Work::scans, power, OnMissing::refuses},
    {"math.random", 0, 0, Work::constant, random},
    {"math.round", 1, 1, Work::scans, rounded, OnMissing::refuses},
    {"math.sign", 1, 1, Work::scans, apply<sign>, OnMissing::refuses},
    {"math.sin", 1, 1, Work::scans, apply<std::sin>, OnMissing::refuses},
    {"math.sinh", 1, 1, Work::scans, apply<std::sinh>, OnMissing::refuses},
    {"math.sqrt", 1, 1, Work::scans, apply<std::sqrt>, OnMissing::refuses},
    {"math.tan", 1, 1, Work::scans, apply<std::tan>, OnMissing::refuses},
    {"math.tanh", 1, 1, Work::scans, apply<std::tanh>, OnMissing::refuses},
    {"math.trunc", 1, 1, Work::scans, apply<std::trunc>, OnMissing::refuses},
};

}  // namespace

Result<Operand> maximum(Call& call, Operands operands) { return fold_all<larger>(call, operands, -infinity); }
Result<Operand> minimum(Call& call, Operands operands) { return fold_all<smaller>(call, operands, infinity); }

Result<Operand> power(Call& call, Operands operands) {
  const double base = number_at(call, operands, 0);
  const double exponent = number_at(call, operands, 1);
  // Two cases where C gives 1 and JavaScript does not.
  if (std::isnan(exponent)) return Operand::number(nan);
  if (std::fabs(base) == 1 && std::isinf(exponent)) return Operand::number(nan);
  return Operand::number(std::pow(base, exponent));
}

// Halves go up, also below zero: -2.5 becomes -2.
Result<Operand> rounded(Call& call, Operands operands) {
  const double number = number_at(call, operands, 0);
  const double below = std::floor(number);
  return Operand::number(number - below >= 0.5 ? below + 1 : below);
}

std::span<const Function> math_functions() { return table; }

}  // namespace pawl::mapping
