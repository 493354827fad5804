// The operators of infix expressions, and the joining of a text with holes. They exist only in the default dialect and
// convert less than JavaScript does: a wrong operand is an error that names it.
#include "mapping/convert.h"
#include "mapping/functions/operands.h"
#include "mapping/json_text.h"

#include "base/format.h"

#include <cmath>

namespace pawl::mapping {

namespace json = boost::json;

namespace {

bool both_numbers(Operands operands) { return is_number(operands[0].value()) && is_number(operands[1].value()); }

Error wants_both(std::string_view what, Operands operands) {
  return Error{ErrorCode::invalid,
               format("wants {}, got {} and {}", what, kind_name(operands[0]), kind_name(operands[1]))};
}

// Integers stay exact as long as the result is one that JSON can hold.
using Integers = bool (*)(std::int64_t, std::int64_t, std::int64_t*);
using Doubles = double (*)(double, double);

bool add_integers(std::int64_t a, std::int64_t b, std::int64_t* out) { return !__builtin_add_overflow(a, b, out); }
bool subtract_integers(std::int64_t a, std::int64_t b, std::int64_t* out) { return !__builtin_sub_overflow(a, b, out); }
bool multiply_integers(std::int64_t a, std::int64_t b, std::int64_t* out) { return !__builtin_mul_overflow(a, b, out); }
double add_doubles(double a, double b) { return a + b; }
double subtract_doubles(double a, double b) { return a - b; }
double multiply_doubles(double a, double b) { return a * b; }

Result<Operand> finite(double number) {
  if (!std::isfinite(number)) return Error{ErrorCode::invalid, "the result is too large for a number"};
  return Operand::number(number);
}

template <Integers integers, Doubles doubles>
Result<Operand> arithmetic(Call&, Operands operands) {
  if (!both_numbers(operands)) return wants_both("two numbers", operands);
  const json::value& a = operands[0].value();
  const json::value& b = operands[1].value();
  std::int64_t exact = 0;
  if (a.is_int64() && b.is_int64() && integers(a.get_int64(), b.get_int64(), &exact))
    return Operand(json::value(exact));
  return finite(doubles(number_of(a), number_of(b)));
}

bool is_word(const json::value& value) { return value.is_string() || value.is_bool() || is_number(value); }

Result<Operand> plus(Call& call, Operands operands) {
  const json::value& a = operands[0].value();
  const json::value& b = operands[1].value();
  if (!a.is_string() && !b.is_string()) {
    if (!both_numbers(operands)) return wants_both("two numbers, or a text", operands);
    return arithmetic<add_integers, add_doubles>(call, operands);
  }
  if (!is_word(a) || !is_word(b)) return wants_both("two numbers, or texts, numbers and booleans to join", operands);
  std::string left;
  std::string right;
  std::string joined(to_text(operands[0], left, call.budget));
  joined.append(to_text(operands[1], right, call.budget));
  return text_result(call, joined);
}

Result<Operand> divide(Call&, Operands operands) {
  if (!both_numbers(operands)) return wants_both("two numbers", operands);
  const double divisor = number_of(operands[1].value());
  if (divisor == 0) return Error{ErrorCode::invalid, "divides by 0"};
  return finite(number_of(operands[0].value()) / divisor);
}

// The sign is that of the first operand, as in C and JavaScript.
Result<Operand> remainder(Call&, Operands operands) {
  if (!both_numbers(operands)) return wants_both("two numbers", operands);
  const double divisor = number_of(operands[1].value());
  if (divisor == 0) return Error{ErrorCode::invalid, "divides by 0"};
  const json::value& a = operands[0].value();
  const json::value& b = operands[1].value();
  if (a.is_int64() && b.is_int64())
    return Operand(json::value(b.get_int64() == -1 ? std::int64_t{0} : a.get_int64() % b.get_int64()));
  return finite(std::fmod(number_of(a), divisor));
}

Result<Operand> negate(Call&, Operands operands) {
  if (!is_number(operands[0].value())) return wants("a number", operands, 0);
  return finite(-number_of(operands[0].value()));
}

Result<Operand> invert(Call&, Operands operands) { return Operand::boolean(!truthy(operands[0])); }

// By content; a missing value equals null.
bool same(Call& call, Operands operands) {
  if (operands[0].nullish() || operands[1].nullish()) return operands[0].nullish() && operands[1].nullish();
  return deep_equal(operands[0].value(), operands[1].value(), call.budget);
}
Result<Operand> equal(Call& call, Operands operands) { return Operand::boolean(same(call, operands)); }
Result<Operand> unequal(Call& call, Operands operands) { return Operand::boolean(!same(call, operands)); }

enum class Order { less, less_or_equal, greater, greater_or_equal };

template <Order order>
Result<Operand> compare(Call& call, Operands operands) {
  const bool texts = operands[0].value().is_string() && operands[1].value().is_string();
  if (!texts && !both_numbers(operands)) return wants_both("two numbers or two texts", operands);
  const bool less = less_than(operands[0], operands[1], call.budget).value_or(false);
  const bool greater = less_than(operands[1], operands[0], call.budget).value_or(false);
  switch (order) {
    case Order::less:
      return Operand::boolean(less);
    case Order::less_or_equal:
      return Operand::boolean(!greater);
    case Order::greater:
      return Operand::boolean(greater);
    case Order::greater_or_equal:
      break;
  }
  return Operand::boolean(!less);
}

// A null adds nothing, lists and objects are written as JSON.
Result<Operand> interpolate(Call& call, Operands operands) {
  std::string out;
  for (const Operand& operand : operands) {
    const json::value& value = operand.value();
    if (value.is_null()) continue;
    if (value.is_array() || value.is_object()) {
      if (!charge_copy(value, call.budget)) return Operand();
      out.append(json_text(value));
      continue;
    }
    std::string buffer;
    const std::string_view piece = to_text(operand, buffer, call.budget);
    if (!call.budget.spend_bytes(piece.size())) return Operand();
    out.append(piece);
  }
  return text_result(call, out);
}

constexpr OnMissing refuses = OnMissing::refuses;
constexpr Function infix[] = {
    {"+", 2, 2, Work::scans, plus, refuses},
    {"-", 2, 2, Work::constant, arithmetic<subtract_integers, subtract_doubles>, refuses},
    {"*", 2, 2, Work::constant, arithmetic<multiply_integers, multiply_doubles>, refuses},
    {"/", 2, 2, Work::constant, divide, refuses},
    {"%", 2, 2, Work::constant, remainder, refuses},
    {"<", 2, 2, Work::scans, compare<Order::less>, refuses},
    {"<=", 2, 2, Work::scans, compare<Order::less_or_equal>, refuses},
    {">", 2, 2, Work::scans, compare<Order::greater>, refuses},
    {">=", 2, 2, Work::scans, compare<Order::greater_or_equal>, refuses},
    {"==", 2, 2, Work::scans, equal},
    {"!=", 2, 2, Work::scans, unequal},
};
constexpr Function prefix_signs[] = {
    {"-", 1, 1, Work::constant, negate, refuses},
    {"!", 1, 1, Work::constant, invert},
};
constexpr Function text_with_holes = {"text", 1, any_count, Work::scans, interpolate, refuses};

}  // namespace

const Function* find_operator(std::string_view sign, bool prefix) {
  const std::span<const Function> known = prefix ? std::span<const Function>(prefix_signs) : infix;
  for (const Function& function : known)
    if (function.name == sign) return &function;
  return nullptr;
}

const Function& interpolation() { return text_with_holes; }

}  // namespace pawl::mapping
