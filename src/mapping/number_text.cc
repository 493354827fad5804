#include "mapping/number_text.h"

#include "base/format.h"
#include "mapping/text.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <iterator>
#include <limits>

namespace pawl::mapping {

namespace {

constexpr double nan = std::numeric_limits<double>::quiet_NaN();
constexpr double infinity = std::numeric_limits<double>::infinity();

// A positive number as 0.d1d2d3... times 10 to the `exponent`.
struct Digits {
  std::string digits;
  int exponent;
};

// Reads "d.ddde+xx", the scientific form of to_chars.
Digits split_scientific(std::string_view text) {
  const std::size_t mark = text.find('e');
  Digits out;
  for (const char c : text.substr(0, mark))
    if (c != '.') out.digits.push_back(c);
  int exponent = 0;
  std::string_view tail = text.substr(mark + 1);
  if (!tail.empty() && tail.front() == '+') tail.remove_prefix(1);
  std::from_chars(tail.data(), tail.data() + tail.size(), exponent);
  out.exponent = exponent + 1;
  return out;
}

Digits shortest_digits(double positive) {
  std::array<char, 64> buffer;
  const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), positive, std::chars_format::scientific);
  return split_scientific({buffer.data(), static_cast<std::size_t>(end.ptr - buffer.data())});
}

// 767 significant digits hold every double exactly.
constexpr int exact_digits = 767;

// REQUIRES: 1 <= count <= exact_digits. Rounded to nearest, ties to even.
Digits nearest_digits(double positive, int count) {
  std::array<char, exact_digits + 32> buffer;
  const auto end =
      std::to_chars(buffer.data(), buffer.data() + buffer.size(), positive, std::chars_format::scientific, count - 1);
  return split_scientific({buffer.data(), static_cast<std::size_t>(end.ptr - buffer.data())});
}

// Keeps `count` digits (count may be 0 or negative: then only the carry can remain), ties upwards.
Digits round_half_up(Digits number, int count) {
  if (count >= static_cast<int>(number.digits.size())) {
    number.digits.append(static_cast<std::size_t>(count) - number.digits.size(), '0');
    return number;
  }
  const bool up = count >= 0 && number.digits[static_cast<std::size_t>(count)] >= '5';
  number.digits.resize(count > 0 ? static_cast<std::size_t>(count) : 0);
  if (!up) return number;
  std::size_t at = number.digits.size();
  while (at > 0 && number.digits[at - 1] == '9') number.digits[--at] = '0';
  if (at > 0) {
    ++number.digits[at - 1];
  } else {
    number.digits.insert(number.digits.begin(), '1');
    ++number.exponent;
  }
  return number;
}

// A tie shows as a 5 in the digit after the last one wanted; only then the exact expansion, which is slow, is needed. A
// `count` below 1 also needs it.
bool may_be_tie(double positive, int count) {
  return count < 1 || count >= exact_digits || nearest_digits(positive, count + 1).digits.back() == '5';
}

// `count` significant digits, ties upwards.
Digits rounded_digits(double positive, int count) {
  if (!may_be_tie(positive, count)) return nearest_digits(positive, count);
  return round_half_up(nearest_digits(positive, exact_digits), count);
}

// All digits down to `places` after the point, ties upwards; the point is not written.
std::string digits_to_place(double positive, int places) {
  const int count = shortest_digits(positive).exponent + places;
  if (!may_be_tie(positive, count)) {
    Digits rounded = nearest_digits(positive, count);
    // Rounding up to 10...0 adds a digit in front, so one is missing at the end.
    rounded.digits.resize(static_cast<std::size_t>(rounded.exponent + places), '0');
    return rounded.digits;
  }
  const Digits all = nearest_digits(positive, exact_digits);
  return round_half_up(all, all.exponent + places).digits;
}

void append_exponent(std::string& out, int exponent) { fmt::format_to(std::back_inserter(out), "e{:+d}", exponent); }

// digits "123", exponent e: 1.23e+(e-1).
std::string scientific(std::string_view sign, const Digits& number) {
  std::string out(sign);
  out.push_back(number.digits[0]);
  if (number.digits.size() > 1) out.append(".").append(number.digits, 1);
  append_exponent(out, number.exponent - 1);
  return out;
}

std::string_view sign_of(double number) { return number < 0 ? "-" : ""; }

bool is_digit(char c) { return c >= '0' && c <= '9'; }

int digit_value(char c) {
  if (is_digit(c)) return c - '0';
  if (c >= 'a' && c <= 'z') return c - 'a' + 10;
  if (c >= 'A' && c <= 'Z') return c - 'A' + 10;
  return 99;
}

double digits_in_radix(std::string_view digits, int radix) {
  double value = 0;
  for (const char c : digits) value = value * radix + digit_value(c);
  return value;
}

// How many characters of `text` are a decimal number without sign; 0 when none.
std::size_t decimal_length(std::string_view text) {
  std::size_t at = 0;
  while (at < text.size() && is_digit(text[at])) ++at;
  std::size_t digits = at;
  if (at < text.size() && text[at] == '.') {
    std::size_t fraction = at + 1;
    while (fraction < text.size() && is_digit(text[fraction])) ++fraction;
    digits += fraction - at - 1;
    if (digits > 0) at = fraction;
  }
  if (digits == 0) return 0;
  if (at < text.size() && (text[at] == 'e' || text[at] == 'E')) {
    std::size_t exponent = at + 1;
    if (exponent < text.size() && (text[exponent] == '+' || text[exponent] == '-')) ++exponent;
    const std::size_t first = exponent;
    while (exponent < text.size() && is_digit(text[exponent])) ++exponent;
    if (exponent > first) at = exponent;
  }
  return at;
}

// REQUIRES: decimal_length(text) == text.size().
double decimal_value(std::string_view text) {
  double value = 0;
  const auto result = std::from_chars(text.data(), text.data() + text.size(), value);
  if (result.ec != std::errc::result_out_of_range) return value;
  // Too large or too small: the sign of the exponent that is left after the leading digits decides.
  const std::size_t mark = text.find_first_of("eE");
  const std::string_view mantissa = text.substr(0, mark);
  std::int64_t exponent = 0;
  if (mark != std::string_view::npos) {
    std::string_view tail = text.substr(mark + 1);
    if (tail.front() == '+') tail.remove_prefix(1);
    const auto parsed = std::from_chars(tail.data(), tail.data() + tail.size(), exponent);
    if (parsed.ec != std::errc{}) return tail.front() == '-' ? 0 : infinity;
  }
  const std::size_t point = std::min(mantissa.find('.'), mantissa.size());
  const std::size_t leading = mantissa.find_first_not_of("0.");
  if (leading == std::string_view::npos) return 0;
  const auto magnitude = static_cast<std::int64_t>(point) - static_cast<std::int64_t>(leading) + exponent;
  return magnitude > 0 ? infinity : 0;
}

struct Signed {
  bool negative;
  std::string_view rest;
};

Signed split_sign(std::string_view text) {
  if (text.empty() || (text[0] != '-' && text[0] != '+')) return {false, text};
  return {text[0] == '-', text.substr(1)};
}

constexpr std::string_view infinity_name = "Infinity";

}  // namespace

void append_number(std::string& out, std::int64_t number) { out.append(fmt::format_int(number).c_str()); }
void append_number(std::string& out, std::uint64_t number) { out.append(fmt::format_int(number).c_str()); }

void append_number(std::string& out, double number) {
  if (std::isnan(number)) {
    out.append("NaN");
    return;
  }
  if (number == 0) {
    out.push_back('0');
    return;
  }
  if (number < 0) out.push_back('-');
  if (std::isinf(number)) {
    out.append(infinity_name);
    return;
  }
  const Digits shortest = shortest_digits(std::fabs(number));
  const int count = static_cast<int>(shortest.digits.size());
  const int point = shortest.exponent;
  if (point > 21 || point < -5) {
    out.append(scientific("", shortest));
  } else if (point <= 0) {
    out.append("0.").append(static_cast<std::size_t>(-point), '0').append(shortest.digits);
  } else if (point >= count) {
    out.append(shortest.digits).append(static_cast<std::size_t>(point - count), '0');
  } else {
    const auto whole = static_cast<std::size_t>(point);
    out.append(shortest.digits, 0, whole).append(".").append(shortest.digits, whole);
  }
}

std::string number_text(double number) {
  std::string out;
  append_number(out, number);
  return out;
}

double parse_number(std::string_view text) {
  text = trim_end(trim_start(text));
  if (text.empty()) return 0;
  if (text.size() > 2 && text[0] == '0') {
    const char kind = static_cast<char>(text[1] | 0x20);
    const int radix = kind == 'x' ? 16 : (kind == 'o' ? 8 : (kind == 'b' ? 2 : 0));
    if (radix != 0) {
      const std::string_view digits = text.substr(2);
      for (const char c : digits)
        if (digit_value(c) >= radix) return nan;
      return digits_in_radix(digits, radix);
    }
  }
  const Signed number = split_sign(text);
  const bool whole = decimal_length(number.rest) == number.rest.size() && !number.rest.empty();
  if (!whole && number.rest != infinity_name) return nan;
  const double value = whole ? decimal_value(number.rest) : infinity;
  return number.negative ? -value : value;
}

double parse_float_prefix(std::string_view text) {
  const Signed number = split_sign(trim_start(text));
  double value = nan;
  if (number.rest.starts_with(infinity_name)) {
    value = infinity;
  } else if (const std::size_t length = decimal_length(number.rest); length > 0) {
    value = decimal_value(number.rest.substr(0, length));
  }
  return number.negative ? -value : value;
}

double parse_int_prefix(std::string_view text, int radix) {
  const Signed number = split_sign(trim_start(text));
  std::string_view rest = number.rest;
  const bool hex_mark = rest.size() >= 2 && rest[0] == '0' && (rest[1] | 0x20) == 'x';
  if (hex_mark && (radix == 0 || radix == 16)) {
    rest.remove_prefix(2);
    radix = 16;
  }
  if (radix == 0) radix = 10;
  if (radix < 2 || radix > 36) return nan;
  std::size_t length = 0;
  while (length < rest.size() && digit_value(rest[length]) < radix) ++length;
  if (length == 0) return nan;
  const std::string_view digits = rest.substr(0, length);
  const double value = radix == 10 ? decimal_value(digits) : digits_in_radix(digits, radix);
  return number.negative ? -value : value;
}

std::string to_fixed(double number, int digits) {
  if (std::fabs(number) >= 1e21) return number_text(number);
  const auto places = static_cast<std::size_t>(digits);
  std::string kept = number == 0 ? "" : digits_to_place(std::fabs(number), digits);
  if (kept.size() < places + 1) kept.insert(0, places + 1 - kept.size(), '0');
  std::string out(sign_of(number));  // kept even when nothing else is: (-0.001).toFixed(2) is "-0.00"
  out.append(kept, 0, kept.size() - places);
  if (digits > 0) out.append(".").append(kept, kept.size() - places);
  return out;
}

std::string to_exponential(double number, int digits) {
  Digits rounded{std::string(static_cast<std::size_t>(digits) + 1, '0'), 1};
  if (number != 0) {
    rounded = rounded_digits(std::fabs(number), digits + 1);
    rounded.digits.resize(static_cast<std::size_t>(digits) + 1);  // a carry made one digit too many
  }
  return scientific(sign_of(number), rounded);
}

std::string to_exponential_shortest(double number) {
  return number == 0 ? "0e+0" : scientific(sign_of(number), shortest_digits(std::fabs(number)));
}

std::string to_precision(double number, int precision) {
  const auto count = static_cast<std::size_t>(precision);
  Digits rounded{std::string(count, '0'), 1};
  if (number != 0) {
    rounded = rounded_digits(std::fabs(number), precision);
    rounded.digits.resize(count);
  }
  const int exponent = rounded.exponent - 1;
  if (exponent < -6 || exponent >= precision) return scientific(sign_of(number), rounded);
  std::string out(sign_of(number));
  if (exponent < 0) {
    out.append("0.").append(static_cast<std::size_t>(-exponent - 1), '0').append(rounded.digits);
  } else {
    const auto whole = static_cast<std::size_t>(exponent) + 1;
    out.append(rounded.digits, 0, whole);
    if (whole < count) out.append(".").append(rounded.digits, whole);
  }
  return out;
}

}  // namespace pawl::mapping
