// A number written in digits and nothing else; none: the text is something else, or the number does not fit.
#pragma once

#include <charconv>
#include <optional>
#include <string_view>

namespace pawl::runtime {

template <class Number>
std::optional<Number> number_in(std::string_view text) {
  Number number = 0;
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc() || rest != end) return std::nullopt;
  return number;
}

}  // namespace pawl::runtime
