// string: JavaScript's string methods with the text as the first operand. Indexes count UTF-16
// units (text.h).
#include "mapping/convert.h"
#include "mapping/functions/operands.h"
#include "mapping/functions/pattern.h"
#include "mapping/text.h"

#include "base/format.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace pawl::mapping {

namespace json = boost::json;

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

using TextBody = Result<Operand> (*)(Call&, Operands, std::string_view);

template <TextBody body>
Result<Operand> on_text(Call& call, Operands operands) {
  if (operands[0].nullish()) return Operand::null();
  Text text;
  read_text(call, operands[0], text);
  if (!text.valid) return wants("a string", operands, 0);
  return body(call, operands, text.view);
}

// An index from the start, clamped; unlike relative_index a negative one is 0.
std::size_t clamped_index(double index, std::size_t size) {
  const std::int64_t at = std::clamp<std::int64_t>(to_integer(index), 0, static_cast<std::int64_t>(size));
  return static_cast<std::size_t>(at);
}

Operand unit_index(std::string_view text, std::size_t byte) {
  if (byte == not_found) return Operand::number(-1);
  return Operand::number(static_cast<double>(unit_count(text.substr(0, byte))));
}

Result<Operand> slice_result(Call& call, std::string_view text, std::size_t begin, std::size_t end) {
  return text_result(call, slice_units(text, begin, std::max(begin, end)));
}

Status push_text(Call& call, json::array& out, std::string_view piece) {
  if (!call.budget.spend_bytes(piece.size() + sizeof(json::value))) return Error{ErrorCode::over_limit, "budget"};
  out.emplace_back(piece);
  return {};
}

Result<Operand> split_units(Call& call, std::string_view text) {
  json::array out;
  for (std::size_t at = 0; at < text.size();) {
    const Decoded next = decode_at(text, at);
    const std::string_view bytes = text.substr(at, next.bytes);
    const bool pair = next.point > 0xFFFF;  // two units, each of them half a character
    for (int half = 0; half < (pair ? 2 : 1); ++half)
      if (const auto added = push_text(call, out, pair ? "\xEF\xBF\xBD" : bytes); !added) return added.error();
    at += next.bytes;
  }
  return Operand(std::move(out));
}

Result<Operand> split(Call& call, Operands operands, std::string_view text) {
  json::array out;
  const Operand& given = operand_at(operands, 1);
  std::string buffer;
  const std::string_view separator = given.missing() ? "" : to_text(given, buffer, call.budget);
  if (!given.missing() && separator.empty()) return split_units(call, text);
  std::size_t begin = 0;
  std::size_t end = given.missing() ? not_found : find_text(text, separator, 0);
  while (end != not_found) {
    if (const auto added = push_text(call, out, text.substr(begin, end - begin)); !added) return added.error();
    begin = end + separator.size();
    end = find_text(text, separator, begin);
  }
  if (const auto added = push_text(call, out, text.substr(begin)); !added) return added.error();
  return Operand(std::move(out));
}

Result<Operand> char_at(Call& call, Operands operands, std::string_view text) {
  const double index = std::trunc(number_at(call, operands, 1, 0));
  if (!(index >= 0 && index < static_cast<double>(text.size()))) return Operand::text("");
  const auto at = static_cast<std::size_t>(index);
  return slice_result(call, text, at, at + 1);
}

Result<Operand> concat(Call& call, Operands operands) {
  std::string out;
  for (const Operand& operand : operands) {
    if (operand.nullish()) continue;
    std::string buffer;
    const std::string_view piece = to_text(operand, buffer, call.budget);
    if (!call.budget.spend_bytes(piece.size())) return Operand();
    out.append(piece);
  }
  return text_result(call, out);
}

// The byte where the search begins, given by operand 2.
std::size_t from_byte(Call& call, Operands operands, std::string_view text) {
  const double from = number_at(call, operands, 2, 0);
  return byte_of_unit(text, clamped_index(from, text.size()));
}

Result<Operand> includes(Call& call, Operands operands, std::string_view text) {
  std::string buffer;
  const std::string_view wanted = to_text(operands[1], buffer, call.budget);
  return Operand::boolean(find_text(text, wanted, from_byte(call, operands, text)) != not_found);
}

// Whether unit `unit` is the second half of a pair: then no character begins there.
bool splits_pair(std::string_view text, std::size_t unit) {
  return !is_ascii(text) && unit_count(text.substr(0, byte_of_unit(text, unit))) > unit;
}
constexpr std::size_t pair_bytes = 4;

Result<Operand> index_of(Call& call, Operands operands, std::string_view text) {
  std::string buffer;
  const std::string_view wanted = to_text(operands[1], buffer, call.budget);
  const std::size_t from = clamped_index(number_at(call, operands, 2, 0), unit_count(text));
  if (wanted.empty()) return Operand::number(static_cast<double>(from));
  return unit_index(text, find_text(text, wanted, byte_of_unit(text, from)));
}

Result<Operand> last_index_of(Call& call, Operands operands, std::string_view text) {
  std::string buffer;
  const std::string_view wanted = to_text(operands[1], buffer, call.budget);
  const double given = number_at(call, operands, 2, infinity);
  const std::size_t from = clamped_index(std::isnan(given) ? infinity : given, unit_count(text));
  if (wanted.empty()) return Operand::number(static_cast<double>(from));
  const std::size_t byte = byte_of_unit(text, from) - (splits_pair(text, from) ? pair_bytes : 0);
  return unit_index(text, find_last_text(text, wanted, byte));
}

Result<Operand> slice(Call& call, Operands operands, std::string_view text) {
  const std::size_t units = unit_count(text);
  return slice_result(call, text, relative_index(number_at(call, operands, 1, 0), units),
                      relative_index(number_at(call, operands, 2, infinity), units));
}

Result<Operand> substring(Call& call, Operands operands, std::string_view text) {
  const std::size_t units = unit_count(text);
  const std::size_t a = clamped_index(number_at(call, operands, 1, 0), units);
  const std::size_t b = clamped_index(number_at(call, operands, 2, infinity), units);
  return slice_result(call, text, std::min(a, b), std::max(a, b));
}

Result<Operand> lower(Call& call, Operands, std::string_view text) { return text_result(call, to_lower(text)); }
Result<Operand> upper(Call& call, Operands, std::string_view text) { return text_result(call, to_upper(text)); }
Result<Operand> trim_both(Call& call, Operands, std::string_view text) {
  return text_result(call, trim_end(trim_start(text)));
}
Result<Operand> trim_left(Call& call, Operands, std::string_view text) { return text_result(call, trim_start(text)); }
Result<Operand> trim_right(Call& call, Operands, std::string_view text) { return text_result(call, trim_end(text)); }

// The text to add to `text`; charged before it is made, because a small expression can ask for a lot.
Result<std::string> padding(Call& call, Operands operands, std::string_view text) {
  const std::size_t units = unit_count(text);
  const double wanted = number_at(call, operands, 1, 0);
  if (!(wanted > static_cast<double>(units))) return std::string();
  std::string buffer;
  const Operand& given = operand_at(operands, 2);
  const std::string_view filler = given.missing() ? " " : to_text(given, buffer, call.budget);
  if (filler.empty()) return std::string();
  const double missing = std::floor(wanted) - static_cast<double>(units);
  const auto bytes = static_cast<std::uint64_t>(to_integer(missing));
  constexpr std::uint64_t bytes_per_unit_max = 3;
  if (bytes > call.budget.bytes_left() || !call.budget.spend_bytes(bytes * bytes_per_unit_max))
    return Error{ErrorCode::over_limit, "would make a text larger than the budget"};
  const std::size_t filler_units = unit_count(filler);
  std::string out;
  std::size_t left = static_cast<std::size_t>(bytes);
  for (; left >= filler_units; left -= filler_units) out.append(filler);
  return out.append(slice_units(filler, 0, left));
}

Result<Operand> pad_start(Call& call, Operands operands, std::string_view text) {
  auto added = padding(call, operands, text);
  if (!added) return added.error();
  return text_result(call, added->append(text));
}

Result<Operand> pad_end(Call& call, Operands operands, std::string_view text) {
  const auto added = padding(call, operands, text);
  if (!added) return added.error();
  return text_result(call, std::string(text).append(*added));
}

// $$, $&, $` and $' in a replacement mean a dollar, the match, what precedes and what follows it.
Result<Operand> replace(Call& call, Operands operands, std::string_view text) {
  std::string wanted_buffer;
  std::string with_buffer;
  const std::string_view wanted = to_text(operands[1], wanted_buffer, call.budget);
  const std::string_view with = to_text(operands[2], with_buffer, call.budget);
  const std::size_t at = find_text(text, wanted, 0);
  if (at == not_found) return text_result(call, text);
  const std::string_view before = text.substr(0, at);
  const std::string_view after = text.substr(at + wanted.size());
  std::string out(before);
  for (std::size_t i = 0; i < with.size(); ++i) {
    const char next = with[i] == '$' && i + 1 < with.size() ? with[i + 1] : '\0';
    std::string_view piece = with.substr(i, 1);
    const bool special = next == '$' || next == '&' || next == '`' || next == '\'';
    if (next == '&') piece = wanted;
    if (next == '`') piece = before;
    if (next == '\'') piece = after;
    if (!call.budget.spend_bytes(piece.size())) return Operand();
    out.append(piece);
    if (special) ++i;
  }
  return text_result(call, out.append(after));
}

Result<Operand> search(Call& call, Operands operands, std::string_view text) {
  std::string buffer;
  const std::string_view pattern = operands[1].missing() ? "" : to_text(operands[1], buffer, call.budget);
  const auto found = find_pattern(text, pattern);
  if (!found) return found.error();
  return unit_index(text, *found);
}

Result<Operand> starts_with(Call& call, Operands operands, std::string_view text) {
  std::string buffer;
  const std::string_view wanted = to_text(operands[1], buffer, call.budget);
  const std::size_t from = clamped_index(number_at(call, operands, 2, 0), text.size());
  if (wanted.empty()) return Operand::boolean(true);
  const bool whole = !splits_pair(text, from);
  return Operand::boolean(whole && text.substr(byte_of_unit(text, from)).starts_with(wanted));
}

Result<Operand> ends_with(Call& call, Operands operands, std::string_view text) {
  std::string buffer;
  const std::string_view wanted = to_text(operands[1], buffer, call.budget);
  const std::size_t end = clamped_index(number_at(call, operands, 2, infinity), text.size());
  if (wanted.empty()) return Operand::boolean(true);
  const bool whole = !splits_pair(text, end);
  return Operand::boolean(whole && text.substr(0, byte_of_unit(text, end)).ends_with(wanted));
}

Result<Operand> repeat(Call& call, Operands operands, std::string_view text) {
  const double count = std::trunc(number_at(call, operands, 1, 0));
  if (count < 0 || std::isinf(count)) return wants("a count of 0 or more", operands, 1);
  const auto times = static_cast<std::uint64_t>(to_integer(count));
  if (times == 0 || text.empty()) return Operand::text("");
  const bool fits = times <= call.budget.bytes_left() / text.size();
  if (!fits || !call.budget.spend_bytes(times * text.size()))
    return Error{ErrorCode::over_limit, "would make a text larger than the budget"};
  std::string out;
  out.reserve(static_cast<std::size_t>(times) * text.size());
  for (std::uint64_t i = 0; i < times; ++i) out.append(text);
  return Operand::text(out);
}

constexpr Function table[] = {
    {"string.split", 1, 2, Work::scans, on_text<split>},
    {"string.charAt", 1, 2, Work::scans, on_text<char_at>},
    {"string.concat", 0, any_count, Work::constant, concat},
    {"string.includes", 2, 3, Work::scans, on_text<includes>},
    {"string.indexOf", 2, 3, Work::scans, on_text<index_of>},
    {"string.lastIndexOf", 2, 3, Work::scans, on_text<last_index_of>},
    {"string.slice", 1, 3, Work::scans, on_text<slice>},
    {"string.toLowerCase", 1, 1, Work::scans, on_text<lower>},
    {"string.toUpperCase", 1, 1, Work::scans, on_text<upper>},
    {"string.trim", 1, 1, Work::scans, on_text<trim_both>},
    {"string.trimStart", 1, 1, Work::scans, on_text<trim_left>},
    {"string.trimEnd", 1, 1, Work::scans, on_text<trim_right>},
    {"string.padStart", 2, 3, Work::scans, on_text<pad_start>},
    {"string.padEnd", 2, 3, Work::scans, on_text<pad_end>},
    {"string.replace", 3, 3, Work::scans, on_text<replace>},
    {"string.search", 2, 2, Work::scans, on_text<search>},
    {"string.substring", 2, 3, Work::scans, on_text<substring>},
    {"string.startsWith", 2, 3, Work::scans, on_text<starts_with>},
    {"string.endsWith", 2, 3, Work::scans, on_text<ends_with>},
    {"string.repeat", 2, 2, Work::scans, on_text<repeat>},
};

}  // namespace

std::span<const Function> string_functions() { return table; }

}  // namespace pawl::mapping
