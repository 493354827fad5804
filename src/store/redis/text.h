// How values are written in Redis, so that a person can read them and Lua can compare them.
#pragma once

#include <charconv>
#include <cstdint>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace pawl::store::redis {

// Decimal digits, without the costs of a format string: most words are numbers.
template <class Number>
std::string decimal(Number number) {
  char digits[24];
  return {std::begin(digits), std::to_chars(std::begin(digits), std::end(digits), number).ptr};
}

// One word without spaces for any bytes: bytes that are not printable are "%41", empty is "%".
std::string escape(std::string_view text);
std::string unescape(std::string_view word);

// "3:abc": concatenated names can be separated again.
std::string joined(std::string_view part);
// The parts of such a name. None: it was not made by joined().
std::optional<std::vector<std::string>> parts_of(std::string_view names);

// As wide as the largest number: texts sort like numbers.
std::string wide(std::uint64_t number);
std::string wide_activity(std::uint32_t activity);

std::vector<std::string_view> words_of(std::string_view text, char between = ' ');

template <class Number>
std::optional<Number> number_in(std::string_view text) {
  Number number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

}  // namespace pawl::store::redis
