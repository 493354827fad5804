// array: JavaScript's array methods with the array as the first operand. Data is never changed in place: where
// JavaScript changes the array, docs/MAPPING.md defines the result.
#include "mapping/convert.h"
#include "mapping/functions/operands.h"
#include "mapping/functions/sort.h"
#include "mapping/text.h"

#include <algorithm>
#include <limits>

namespace pawl::mapping {

namespace json = boost::json;

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

using ArrayBody = Result<Operand> (*)(Call&, Operands, const json::array&);

template <ArrayBody body>
Result<Operand> on_array(Call& call, Operands operands) {
  if (operands[0].nullish()) return Operand::null();
  const json::array* array = operands[0].value().if_array();
  if (array == nullptr) return wants("an array", operands, 0);
  return body(call, operands, *array);
}

Operand element(Operand& holder, const json::array& array, std::size_t index) {
  if (index >= array.size()) return Operand();
  if (!holder.owned()) return Operand::borrow(array[index]);
  return Operand(std::move(holder.owned_value().get_array()[index]));  // the holder is dropped after the call
}

Result<Operand> get(Call& call, Operands operands, const json::array& array) {
  const Operand& wanted = operand_at(operands, 1);
  if (!wanted.missing() && wanted.value().is_null()) return Operand();
  const double index = number_at(call, operands, 1, 0);
  const bool exists =
      index >= 0 && index < static_cast<double>(array.size()) && index == static_cast<double>(to_integer(index));
  return exists ? element(operands[0], array, static_cast<std::size_t>(index)) : Operand();
}

Result<Operand> length(Call&, Operands operands) {
  const json::value& value = operands[0].value();
  if (value.is_null()) return Operand::null();
  if (const json::array* array = value.if_array()) return Operand::number(static_cast<double>(array->size()));
  if (const json::string* text = value.if_string()) return Operand::number(static_cast<double>(unit_count(*text)));
  return wants("an array or a string", operands, 0);
}

Status append_operand(Call& call, json::array& out, Operand& operand) {
  auto element = as_element(call, operand);
  if (!element) return element.error();
  out.push_back(std::move(*element));
  return {};
}

Result<Operand> concat(Call& call, Operands operands, const json::array&) {
  if (const auto owned = own(call, operands[0]); !owned) return owned.error();
  json::array& out = operands[0].owned_value().get_array();
  for (std::size_t i = 1; i < operands.size(); ++i) {
    if (const json::array* more = operands[i].value().if_array()) {
      if (!charge_copy(operands[i].value(), call.budget)) return Operand();
      out.insert(out.end(), more->begin(), more->end());
    } else if (const auto added = append_operand(call, out, operands[i]); !added) {
      return added.error();
    }
  }
  return std::move(operands[0]);
}

Result<Operand> push(Call& call, Operands operands, const json::array&) {
  if (const auto owned = own(call, operands[0]); !owned) return owned.error();
  json::array& out = operands[0].owned_value().get_array();
  for (std::size_t i = 1; i < operands.size(); ++i)
    if (const auto added = append_operand(call, out, operands[i]); !added) return added.error();
  return std::move(operands[0]);
}

Result<Operand> unshift(Call& call, Operands operands, const json::array& array) {
  if (call.compat_hotmesh) return Operand::number(static_cast<double>(array.size() + operands.size() - 1));
  if (const auto owned = own(call, operands[0]); !owned) return owned.error();
  json::array out;
  for (std::size_t i = 1; i < operands.size(); ++i)
    if (const auto added = append_operand(call, out, operands[i]); !added) return added.error();
  json::array& rest = operands[0].owned_value().get_array();
  out.reserve(out.size() + rest.size());
  for (json::value& value : rest) out.push_back(std::move(value));
  return Operand(std::move(out));
}

Result<Operand> index_of(Call& call, Operands operands, const json::array& array) {
  const std::size_t from = relative_index(number_at(call, operands, 2, 0), array.size());
  const Operand& wanted = operand_at(operands, 1);
  for (std::size_t i = from; i < array.size(); ++i)
    if (strict_equal(Operand::borrow(array[i]), wanted, call.budget)) return Operand::number(static_cast<double>(i));
  return Operand::number(-1);
}

Result<Operand> last_index_of(Call& call, Operands operands, const json::array& array) {
  const double from = number_at(call, operands, 2, infinity);
  std::int64_t at = to_integer(from);
  const auto size = static_cast<std::int64_t>(array.size());
  if (at < 0) at += size;
  const Operand& wanted = operand_at(operands, 1);
  for (at = std::min(at, size - 1); at >= 0; --at)
    if (strict_equal(Operand::borrow(array[static_cast<std::size_t>(at)]), wanted, call.budget))
      return Operand::number(static_cast<double>(at));
  return Operand::number(-1);
}

Result<Operand> join(Call& call, Operands operands, const json::array& array) {
  std::string separator_buffer;
  const Operand& given = operand_at(operands, 1);
  const std::string_view separator = given.missing() ? "," : to_text(given, separator_buffer, call.budget);
  std::string out;
  for (std::size_t i = 0; i < array.size(); ++i) {
    if (i > 0) out.append(separator);
    if (!call.budget.spend_bytes(separator.size() + 1)) return Operand();
    if (array[i].is_null()) continue;
    std::string buffer;
    out.append(to_text(Operand::borrow(array[i]), buffer, call.budget));
    if (array[i].is_string() && !call.budget.spend_bytes(array[i].get_string().size())) return Operand();
  }
  return text_result(call, out);
}

Result<Operand> pop(Call&, Operands operands, const json::array& array) {
  return array.empty() ? Operand() : element(operands[0], array, array.size() - 1);
}

Result<Operand> shift(Call&, Operands operands, const json::array& array) { return element(operands[0], array, 0); }

Result<Operand> reverse(Call& call, Operands operands, const json::array&) {
  if (const auto owned = own(call, operands[0]); !owned) return owned.error();
  json::array& out = operands[0].owned_value().get_array();
  for (std::size_t i = 0; i < out.size() / 2; ++i) out[i].swap(out[out.size() - 1 - i]);
  return std::move(operands[0]);
}

Result<Operand> part(Call& call, const json::array& array, std::size_t begin, std::size_t end) {
  json::array out;
  if (begin < end) out.reserve(end - begin);
  for (std::size_t i = begin; i < end; ++i) {
    if (!charge_copy(array[i], call.budget)) return Operand();
    out.push_back(array[i]);
  }
  return Operand(std::move(out));
}

Result<Operand> slice(Call& call, Operands operands, const json::array& array) {
  const std::size_t begin = relative_index(number_at(call, operands, 1, 0), array.size());
  const std::size_t end = relative_index(number_at(call, operands, 2, infinity), array.size());
  return part(call, array, begin, end);
}

Result<Operand> splice(Call& call, Operands operands, const json::array& array) {
  const std::size_t begin = relative_index(number_at(call, operands, 1, 0), array.size());
  const double count = std::max(0.0, number_at(call, operands, 2, infinity));
  const auto left = static_cast<double>(array.size() - begin);
  return part(call, array, begin, begin + static_cast<std::size_t>(to_integer(std::min(count, left))));
}

Result<Operand> sort(Call& call, Operands operands, const json::array&) {
  const Operand& order = operand_at(operands, 1);
  const bool descending = order.value().is_string() && order.value().get_string() == "DESCENDING";
  const bool ascending = order.nullish() || (order.value().is_string() && order.value() == "ASCENDING");
  if (!descending && !ascending) return wants("\"ASCENDING\" or \"DESCENDING\"", operands, 1);
  if (const auto owned = own(call, operands[0]); !owned) return owned.error();
  sort_values(operands[0].owned_value().get_array(), {.descending = descending, .locale_like = call.compat_hotmesh},
              call.budget);
  return std::move(operands[0]);
}

constexpr Function table[] = {
    {"array.get", 1, 2, Work::constant, on_array<get>},
    {"array.length", 1, 1, Work::scans, length},
    {"array.concat", 2, any_count, Work::scans, on_array<concat>},
    {"array.indexOf", 2, 3, Work::scans, on_array<index_of>},
    {"array.join", 1, 2, Work::scans, on_array<join>},
    {"array.lastIndexOf", 2, 3, Work::scans, on_array<last_index_of>},
    {"array.pop", 1, 1, Work::constant, on_array<pop>},
    {"array.push", 2, any_count, Work::constant, on_array<push>},
    {"array.reverse", 1, 1, Work::scans, on_array<reverse>},
    {"array.shift", 1, 1, Work::constant, on_array<shift>},
    {"array.slice", 1, 3, Work::constant, on_array<slice>},
    {"array.sort", 1, 2, Work::scans, on_array<sort>},
    {"array.splice", 2, 3, Work::constant, on_array<splice>},
    {"array.unshift", 2, any_count, Work::scans, on_array<unshift>},
};

}  // namespace

std::span<const Function> array_functions() { return table; }

}  // namespace pawl::mapping
