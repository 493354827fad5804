#include "mapping/functions/operands.h"

#include "base/format.h"
#include "mapping/convert.h"

#include <algorithm>
#include <cmath>

namespace pawl::mapping {

namespace json = boost::json;

namespace {

const Operand missing_operand{};

Error over_depth() {
  return Error{ErrorCode::over_limit, format("would nest values more than {} deep", value_depth_max)};
}

}  // namespace

const Operand& operand_at(Operands operands, std::size_t index) {
  return index < operands.size() ? operands[index] : missing_operand;
}

Error wants(std::string_view what, Operands operands, std::size_t index) {
  return Error{ErrorCode::invalid,
               format("wants {} as operand {}, got {}", what, index + 1, kind_name(operand_at(operands, index)))};
}

double number_at(Call& call, Operands operands, std::size_t index) {
  return to_number(operand_at(operands, index), call.budget);
}

double number_at(Call& call, Operands operands, std::size_t index, double fallback) {
  const Operand& operand = operand_at(operands, index);
  return operand.missing() ? fallback : to_number(operand, call.budget);
}

void read_text(Call& call, const Operand& operand, Text& text) {
  const json::value& value = operand.value();
  text.valid = value.is_string() || value.is_bool() || is_number(value);
  if (text.valid) text.view = to_text(operand, text.buffer, call.budget);
}

std::size_t relative_index(double index, std::size_t size) {
  const auto length = static_cast<std::int64_t>(size);
  std::int64_t at = to_integer(index);
  if (at < 0) at = std::max<std::int64_t>(0, length + at);
  return static_cast<std::size_t>(std::min(at, length));
}

Status own(Call& call, Operand& operand) {
  if (operand.owned()) return {};
  if (charge_copy(operand.value(), call.budget)) operand = Operand(operand.value());
  if (call.budget.exhausted()) return Error{ErrorCode::over_limit, "budget"};
  return {};
}

Result<json::value> copy_element(Call& call, const json::value& value) {
  if (deeper_than(value, value_depth_max - 1)) return over_depth();
  if (!charge_copy(value, call.budget)) return json::value();
  return value;
}

Result<json::value> as_element(Call& call, Operand& operand) {
  if (operand.missing()) return json::value();
  if (const double* number = operand.value().if_double()) {
    if (!std::isfinite(*number)) return json::value();
    if (*number == 0) return json::value(std::int64_t{0});  // JSON has no -0
  }
  if (!operand.owned()) return copy_element(call, operand.value());
  if (deeper_than(operand.value(), value_depth_max - 1)) return over_depth();
  if (!call.budget.spend_bytes(sizeof(json::value))) return json::value();
  return std::move(operand.owned_value());
}

Result<Operand> text_result(Call& call, std::string_view text) {
  if (!call.budget.spend_bytes(text.size() + sizeof(json::value))) return Operand();
  return Operand::text(text);
}

}  // namespace pawl::mapping
