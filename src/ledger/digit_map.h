// The positions of digits. Every ledger is a decimal number of 15 digits, and its positions are counted from the left,
// 1 to 15, as people read them. A Field is a range of positions with one meaning. Its weight is computed from its
// position, so that no weight is written anywhere else.
#pragma once

#include <cstdint>
#include <string>

namespace pawl::ledger {

inline constexpr int digit_count = 15;

consteval std::uint64_t power_of_ten(int exponent) {
  std::uint64_t power = 1;
  for (int i = 0; i < exponent; ++i) power *= 10;
  return power;
}

inline constexpr std::uint64_t value_max = power_of_ten(digit_count) - 1;

struct Field {
  std::uint64_t unit;  // the number that adds 1 to this field
  std::uint64_t max;   // the largest count that fits its digits

  constexpr std::uint64_t read(std::uint64_t value) const { return value / unit % (max + 1); }
};

consteval Field positions(int first, int last) {
  return {.unit = power_of_ten(digit_count - last), .max = power_of_ten(last - first + 1) - 1};
}
consteval Field position(int at) { return positions(at, at); }

// The number as it is shown: always 15 characters.
std::string fifteen_digits(std::uint64_t value);

}  // namespace pawl::ledger
