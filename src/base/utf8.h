// Text from outside: the text of an exception, a command's output, a file. It may be cut anywhere and contain any
// bytes; what is kept or printed is UTF-8.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace pawl {

struct Decoded {
  char32_t point;     // U+FFFD for a byte that is not valid UTF-8
  std::size_t bytes;  // how many bytes it took, at least 1
};

// REQUIRES: at < text.size().
Decoded decode_at(std::string_view text, std::size_t at);
void append_utf8(std::string& out, char32_t point);

// The same text; each byte that is not part of a character becomes U+FFFD.
std::string valid_utf8(std::string_view text);
// The first bytes, at most `bytes_max`, and the last ones. Neither begins nor ends inside a character.
std::string_view cut_utf8(std::string_view text, std::size_t bytes_max);
std::string_view tail_utf8(std::string_view text, std::size_t bytes_max);
// Both: what is kept of a text from outside. At most `bytes_max` bytes, even when replacements made it longer.
std::string kept_text(std::string_view text, std::size_t bytes_max);

// For people: no character of it controls a terminal. Control characters are shown as their pictures (ESC as U+241B) or
// as <U+009B>; tabs and line ends stay.
std::string printable(std::string_view text);
// The same for JSON text, without changing its meaning: such a character can only be inside a string.
std::string printable_json(std::string_view json);

}  // namespace pawl
