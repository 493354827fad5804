#include "mapping/convert.h"

#include "mapping/number_text.h"
#include "mapping/text.h"

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>

#include <cmath>
#include <limits>

namespace pawl::mapping {

namespace json = boost::json;

namespace {

constexpr double nan = std::numeric_limits<double>::quiet_NaN();
constexpr std::string_view object_text = "[object Object]";

void append_text(std::string& out, const json::value& value, Budget& budget) {
  const std::size_t before = out.size();
  switch (value.kind()) {
    case json::kind::null:
      out.append("null");
      break;
    case json::kind::bool_:
      out.append(value.get_bool() ? "true" : "false");
      break;
    case json::kind::int64:
      append_number(out, value.get_int64());
      break;
    case json::kind::uint64:
      append_number(out, value.get_uint64());
      break;
    case json::kind::double_:
      append_number(out, value.get_double());
      break;
    case json::kind::string:
      out.append(std::string_view(value.get_string()));
      break;
    case json::kind::object:
      out.append(object_text);
      break;
    case json::kind::array: {
      bool first = true;
      for (const json::value& element : value.get_array()) {
        if (!first) out.push_back(',');
        first = false;
        if (!element.is_null()) append_text(out, element, budget);
        if (!budget.spend_bytes(1)) return;
      }
      return;
    }
  }
  (void)budget.spend_bytes(out.size() - before);  // a refusal is sticky, the evaluator sees it
}

bool both_integers(const json::value& a, const json::value& b) { return a.is_int64() && b.is_int64(); }

bool equal_numbers(const json::value& a, const json::value& b) {
  if (both_integers(a, b)) return a.get_int64() == b.get_int64();  // exact beyond 2^53
  if (a.is_uint64() && b.is_uint64()) return a.get_uint64() == b.get_uint64();
  return number_of(a) == number_of(b);
}

bool is_container(const json::value& value) { return value.is_array() || value.is_object(); }

}  // namespace

std::string_view kind_name(const Operand& operand) {
  if (operand.missing()) return "a missing value";
  switch (operand.value().kind()) {
    case json::kind::null:
      return "null";
    case json::kind::bool_:
      return "a boolean";
    case json::kind::int64:
    case json::kind::uint64:
    case json::kind::double_:
      return "a number";
    case json::kind::string:
      return "a string";
    case json::kind::array:
      return "an array";
    case json::kind::object:
      return "an object";
  }
  return "?";
}

bool is_number(const json::value& value) { return value.is_int64() || value.is_double() || value.is_uint64(); }

double number_of(const json::value& value) {
  if (value.is_int64()) return static_cast<double>(value.get_int64());
  if (value.is_uint64()) return static_cast<double>(value.get_uint64());
  return value.get_double();
}

bool truthy(const Operand& operand) {
  const json::value& value = operand.value();
  switch (value.kind()) {
    case json::kind::null:
      return false;
    case json::kind::bool_:
      return value.get_bool();
    case json::kind::string:
      return !value.get_string().empty();
    case json::kind::array:
    case json::kind::object:
      return true;
    default: {
      const double number = number_of(value);
      return number != 0 && !std::isnan(number);
    }
  }
}

double to_number(const Operand& operand, Budget& budget) {
  if (operand.missing()) return nan;
  const json::value& value = operand.value();
  switch (value.kind()) {
    case json::kind::null:
      return 0;
    case json::kind::bool_:
      return value.get_bool() ? 1 : 0;
    case json::kind::string:
      return parse_number(value.get_string());
    case json::kind::object:
      return nan;
    case json::kind::array: {
      std::string buffer;
      return parse_number(to_text(operand, buffer, budget));
    }
    default:
      return number_of(value);
  }
}

std::int32_t to_int32(double number) {
  if (!std::isfinite(number)) return 0;
  const double modulus = 4294967296.0;
  double wrapped = std::fmod(std::trunc(number), modulus);
  if (wrapped < 0) wrapped += modulus;
  return static_cast<std::int32_t>(static_cast<std::uint32_t>(wrapped));
}

std::int64_t to_integer(double number) {
  if (std::isnan(number)) return 0;
  constexpr double edge = 9.0e18;
  if (number >= edge) return static_cast<std::int64_t>(edge);
  if (number <= -edge) return -static_cast<std::int64_t>(edge);
  return static_cast<std::int64_t>(number);
}

std::string_view to_text(const Operand& operand, std::string& buffer, Budget& budget) {
  if (operand.missing()) return "undefined";
  if (operand.value().is_string()) return operand.value().get_string();
  append_text(buffer, operand.value(), budget);
  return buffer;
}

bool deep_equal(const json::value& a, const json::value& b, Budget& budget) {
  if (!budget.spend_steps(1)) return false;
  if (is_number(a) && is_number(b)) return equal_numbers(a, b);
  if (a.kind() != b.kind()) return false;
  if (a.is_array()) {
    const json::array& left = a.get_array();
    const json::array& right = b.get_array();
    if (left.size() != right.size()) return false;
    for (std::size_t i = 0; i < left.size(); ++i)
      if (!deep_equal(left[i], right[i], budget)) return false;
    return true;
  }
  if (a.is_object()) {
    const json::object& left = a.get_object();
    const json::object& right = b.get_object();
    if (left.size() != right.size()) return false;
    for (const json::key_value_pair& member : left) {
      const json::value* other = right.if_contains(member.key());
      if (other == nullptr || !deep_equal(member.value(), *other, budget)) return false;
    }
    return true;
  }
  return a == b;
}

bool strict_equal(const Operand& a, const Operand& b, Budget& budget) {
  if (a.missing() || b.missing()) return a.missing() && b.missing();
  return deep_equal(a.value(), b.value(), budget);
}

bool loose_equal(const Operand& a, const Operand& b, Budget& budget) {
  if (a.nullish() || b.nullish()) return a.nullish() && b.nullish();
  const json::value& left = a.value();
  const json::value& right = b.value();
  const bool same_kind = left.kind() == right.kind() || (is_number(left) && is_number(right));
  if (same_kind || (is_container(left) && is_container(right))) return deep_equal(left, right, budget);
  const bool as_text = (is_container(left) && right.is_string()) || (is_container(right) && left.is_string());
  if (as_text) {
    std::string buffer;
    std::string other_buffer;
    return to_text(a, buffer, budget) == to_text(b, other_buffer, budget);
  }
  return to_number(a, budget) == to_number(b, budget);
}

std::optional<bool> less_than(const Operand& a, const Operand& b, Budget& budget) {
  const json::value& left = a.value();
  const json::value& right = b.value();
  if (both_integers(left, right)) return left.get_int64() < right.get_int64();
  const auto textual = [](const json::value& value) { return value.is_string() || is_container(value); };
  if (textual(left) && textual(right)) {
    std::string buffer;
    std::string other_buffer;
    return compare_units(to_text(a, buffer, budget), to_text(b, other_buffer, budget)) < 0;
  }
  const double x = to_number(a, budget);
  const double y = to_number(b, budget);
  if (std::isnan(x) || std::isnan(y)) return std::nullopt;
  return x < y;
}

bool charge_copy(const json::value& value, Budget& budget) {
  constexpr std::uint64_t value_bytes = sizeof(json::value);
  if (!budget.spend_bytes(value_bytes)) return false;
  switch (value.kind()) {
    case json::kind::string:
      return budget.spend_bytes(value.get_string().size());
    case json::kind::array:
      for (const json::value& element : value.get_array())
        if (!charge_copy(element, budget)) return false;
      return true;
    case json::kind::object:
      for (const json::key_value_pair& member : value.get_object()) {
        if (!budget.spend_bytes(member.key().size() + value_bytes)) return false;
        if (!charge_copy(member.value(), budget)) return false;
      }
      return true;
    default:
      return true;
  }
}

bool deeper_than(const json::value& value, std::size_t levels) {
  if (!is_container(value)) return false;
  if (levels == 0) return true;
  if (value.is_array()) {
    for (const json::value& element : value.get_array())
      if (deeper_than(element, levels - 1)) return true;
    return false;
  }
  for (const json::key_value_pair& member : value.get_object())
    if (deeper_than(member.value(), levels - 1)) return true;
  return false;
}

}  // namespace pawl::mapping
