// Numbers as JavaScript writes and reads them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace pawl::mapping {

// The shortest text that reads back as the same number: 0.1, 1e+21, 5e-324, NaN, -Infinity; -0 is
// "0".
void append_number(std::string& out, double number);
void append_number(std::string& out, std::int64_t number);
void append_number(std::string& out, std::uint64_t number);
std::string number_text(double number);

// Number(text): white space around is ignored, empty is 0, 0x, 0o and 0b are read, all else is NaN.
double parse_number(std::string_view text);
// parseFloat(text): the longest number at the start, or NaN.
double parse_float_prefix(std::string_view text);
// parseInt(text, radix): radix 0 means 10, or 16 after "0x". NaN for a radix outside 2..36.
double parse_int_prefix(std::string_view text, int radix);

// The three formats; a number exactly between two candidates goes away from zero, as in JavaScript.
// REQUIRES: number is finite, 0 <= digits <= 100 (precision: 1..100).
std::string to_fixed(double number, int digits);
std::string to_exponential(double number, int digits);
std::string to_exponential_shortest(double number);
std::string to_precision(double number, int precision);

}  // namespace pawl::mapping
