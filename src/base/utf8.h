// Text from outside: an exception's words, a command's output, a file. It may be cut anywhere and hold any bytes;
// what is kept or printed is UTF-8.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace pawl {

struct Decoded {
  char32_t point;     // U+FFFD for a byte that is not valid UTF-8
  std::size_t bytes;  // how many it took, at least 1
};

// REQUIRES: at < text.size().
Decoded decode_at(std::string_view text, std::size_t at);
void append_utf8(std::string& out, char32_t point);

// The same text; each byte that is no part of a character becomes U+FFFD.
std::string valid_utf8(std::string_view text);
// The first bytes, at most `bytes_max`, and the last ones. Neither begins nor ends inside a character.
std::string_view cut_utf8(std::string_view text, std::size_t bytes_max);
std::string_view tail_utf8(std::string_view text, std::size_t bytes_max);
// Both: what is kept of a text from outside. At most `bytes_max` bytes, also when replacements made it longer.
std::string kept_text(std::string_view text, std::size_t bytes_max);

// For people: no character of it tells a terminal to do something. Control characters are seen as their pictures
// (ESC as U+241B) or as <U+009B>; tabs and ends of lines stay.
std::string printable(std::string_view text);
// The same for JSON text, which keeps its meaning: such a character can only stand inside a string.
std::string printable_json(std::string_view json);

}  // namespace pawl
