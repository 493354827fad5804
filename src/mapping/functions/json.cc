// json: text to value and back.
#include "mapping/convert.h"
#include "mapping/functions/operands.h"
#include "mapping/json_parse.h"
#include "mapping/json_text.h"
#include "mapping/key_order.h"
#include "mapping/text.h"

#include <algorithm>

namespace pawl::mapping {

namespace json = boost::json;

namespace {

constexpr double indent_max = 10;  // JavaScript's own limit

std::string indent_of(Call& call, const Operand& space) {
  const json::value& value = space.value();
  if (is_number(value)) {
    const double width = std::clamp(number_of(value), 0.0, indent_max);
    return std::string(static_cast<std::size_t>(to_integer(width)), ' ');
  }
  std::string buffer;
  if (!value.is_string()) return {};
  return slice_units(to_text(space, buffer, call.budget), 0, static_cast<std::size_t>(indent_max));
}

Result<Operand> stringify(Call& call, Operands operands) {
  if (operands[0].missing()) return Operand();
  if (call.compat_hotmesh) {
    if (const auto owned = own(call, operands[0]); !owned) return owned.error();
    if (!order_keys(operands[0].owned_value(), call.budget)) return Operand();
  }
  const json::value& value = operands[0].value();
  // Indented text grows with depth and width, so it is charged before it is made.
  const std::string indent = indent_of(call, operand_at(operands, 1));
  if (!charge_copy(value, call.budget)) return Operand();
  return text_result(call, json_text(value, indent));
}

Result<Operand> parse(Call& call, Operands operands) {
  if (operands[0].nullish()) return Operand::null();
  Text text;
  read_text(call, operands[0], text);
  if (!text.valid) return wants("a string", operands, 0);
  if (!call.budget.spend_bytes(text.view.size() * 2)) return Operand();
  auto value = parse_json(text.view);
  if (!value) return value.error();
  if (!charge_copy(*value, call.budget)) return Operand();
  return Operand(std::move(*value));
}

constexpr Function table[] = {
    {"json.stringify", 1, 2, Work::constant, stringify},
    {"json.parse", 1, 1, Work::scans, parse},
};

}  // namespace

std::span<const Function> json_functions() { return table; }

}  // namespace pawl::mapping
