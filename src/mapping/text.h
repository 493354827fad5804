// Strings are UTF-8 in memory and counted in UTF-16 units, as JavaScript counts them: "é" is 1
// long, an emoji is 2. A cut through the middle of such a pair leaves U+FFFD, which is also what
// JavaScript writes when it encodes half a pair as UTF-8. Plain ASCII takes a path that looks at no
// character twice.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/utf8.h"

namespace pawl::mapping {

bool is_ascii(std::string_view text);
std::size_t unit_count(std::string_view text);

// The byte where unit `unit` begins, text.size() beyond the end; inside a pair, the byte after the
// pair.
std::size_t byte_of_unit(std::string_view text, std::size_t unit);

// Units [begin, end) of the text. REQUIRES: begin <= end.
std::string slice_units(std::string_view text, std::size_t begin, std::size_t end);

// Compares by UTF-16 units: the order of JavaScript's < on strings. Negative, zero or positive.
int compare_units(std::string_view a, std::string_view b);

inline constexpr std::size_t not_found = static_cast<std::size_t>(-1);

// The first byte position >= `from` where `needle` begins. Linear in the worst case: text may be hostile.
std::size_t find_text(std::string_view text, std::string_view needle, std::size_t from);
// The last byte position <= `from` where `needle` begins.
std::size_t find_last_text(std::string_view text, std::string_view needle, std::size_t from);

bool is_white_space(char32_t point);
std::string_view trim_start(std::string_view text);
std::string_view trim_end(std::string_view text);

// Unicode's default mappings, independent of the machine's locale (case_table.cc).
std::string to_lower(std::string_view text);
std::string to_upper(std::string_view text);

}  // namespace pawl::mapping
