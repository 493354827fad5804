#include <charconv>

#include "base/format.h"
#include "pawl/transaction.h"

namespace pawl {

namespace {

template <class Number>
Number number_in(const std::string& text) {
  Number number{};
  const auto read = std::from_chars(text.data(), text.data() + text.size(), number);
  return read.ec == std::errc() && read.ptr == text.data() + text.size() ? number : Number{};
}

// A value that does not fit has no integer.
std::int64_t whole(double value) {
  constexpr double bound = 9223372036854775808.0;  // 2^63
  return value >= -bound && value < bound ? static_cast<std::int64_t>(value) : 0;
}

}  // namespace

std::int64_t SqlValue::integer() const {
  if (const auto* number = std::get_if<std::int64_t>(&value_)) return *number;
  if (const auto* number = std::get_if<double>(&value_)) return whole(*number);
  const auto* text = std::get_if<std::string>(&value_);
  return text == nullptr ? 0 : number_in<std::int64_t>(*text);
}

double SqlValue::real() const {
  if (const auto* number = std::get_if<std::int64_t>(&value_)) return static_cast<double>(*number);
  if (const auto* number = std::get_if<double>(&value_)) return *number;
  const auto* text = std::get_if<std::string>(&value_);
  return text == nullptr ? 0 : number_in<double>(*text);
}

std::string SqlValue::text() const {
  if (const auto* number = std::get_if<std::int64_t>(&value_)) return format("{}", *number);
  if (const auto* number = std::get_if<double>(&value_)) return format("{}", *number);
  if (const auto* text = std::get_if<std::string>(&value_)) return *text;
  const auto* bytes = std::get_if<Bytes>(&value_);
  return bytes == nullptr ? std::string() : bytes->bytes;
}

}  // namespace pawl
