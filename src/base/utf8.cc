#include "base/utf8.h"

#include <algorithm>

#include "base/format.h"

namespace pawl {

namespace {

constexpr char32_t replacement = 0xFFFD;
constexpr std::size_t longest = 4;  // bytes of one character

constexpr unsigned char byte_at(std::string_view text, std::size_t at) { return static_cast<unsigned char>(text[at]); }
constexpr bool is_control(char32_t point) { return point < 0x20 || (point >= 0x7F && point < 0xA0); }
constexpr char32_t picture_of_first = 0x2400;  // of U+0000; those of the others follow
constexpr char32_t picture_of_delete = 0x2421;
constexpr bool continues(unsigned char byte) { return (byte & 0xC0U) == 0x80U; }

// The position of the first byte that belongs to no character; the size if there is none.
std::size_t first_invalid(std::string_view text) {
  for (std::size_t at = 0; at < text.size();) {
    if (byte_at(text, at) < 0x80) {
      ++at;
      continue;
    }
    const Decoded next = decode_at(text, at);
    if (next.bytes == 1) return at;
    at += next.bytes;
  }
  return text.size();
}

}  // namespace

Decoded decode_at(std::string_view text, std::size_t at) {
  const unsigned char first = byte_at(text, at);
  if (first < 0x80) return {first, 1};
  std::size_t more = 0;
  char32_t point = 0;
  char32_t smallest = 0;
  if (first >= 0xC2 && first <= 0xDF) {
    more = 1, point = first & 0x1FU, smallest = 0x80;
  } else if (first >= 0xE0 && first <= 0xEF) {
    more = 2, point = first & 0x0FU, smallest = 0x800;
  } else if (first >= 0xF0 && first <= 0xF4) {
    more = 3, point = first & 0x07U, smallest = 0x10000;
  }
  if (more == 0 || text.size() - at <= more) return {replacement, 1};
  for (std::size_t i = 1; i <= more; ++i) {
    const unsigned char next = byte_at(text, at + i);
    if (!continues(next)) return {replacement, 1};
    point = (point << 6U) | (next & 0x3FU);
  }
  const bool half_of_pair = point >= 0xD800 && point <= 0xDFFF;
  if (point < smallest || point > 0x10FFFF || half_of_pair) return {replacement, 1};
  return {point, more + 1};
}

void append_utf8(std::string& out, char32_t point) {
  const auto put = [&out](char32_t byte) { out.push_back(static_cast<char>(byte)); };
  if (point < 0x80) {
    put(point);
  } else if (point < 0x800) {
    put(0xC0U | (point >> 6U));
    put(0x80U | (point & 0x3FU));
  } else if (point < 0x10000) {
    put(0xE0U | (point >> 12U));
    put(0x80U | ((point >> 6U) & 0x3FU));
    put(0x80U | (point & 0x3FU));
  } else {
    put(0xF0U | (point >> 18U));
    put(0x80U | ((point >> 12U) & 0x3FU));
    put(0x80U | ((point >> 6U) & 0x3FU));
    put(0x80U | (point & 0x3FU));
  }
}

std::string valid_utf8(std::string_view text) {
  std::size_t at = first_invalid(text);
  std::string out(text.substr(0, at));
  while (at < text.size()) {
    append_utf8(out, replacement);
    const std::string_view rest = text.substr(at + 1);
    const std::size_t good = first_invalid(rest);
    out.append(rest.substr(0, good));
    at += 1 + good;
  }
  return out;
}

std::string_view cut_utf8(std::string_view text, std::size_t bytes_max) {
  if (text.size() <= bytes_max) return text;
  // Bytes that belong to no character have no boundary: they are cut at the limit.
  std::size_t end = bytes_max;
  while (end > 0 && bytes_max - end < longest && continues(byte_at(text, end))) --end;
  const bool inside = end < bytes_max && decode_at(text, end).bytes > bytes_max - end;
  return text.substr(0, inside ? end : bytes_max);
}

std::string_view tail_utf8(std::string_view text, std::size_t bytes_max) {
  if (text.size() <= bytes_max) return text;
  const std::size_t limit = text.size() - bytes_max;
  std::size_t begin = limit;
  while (begin > 0 && limit - begin < longest && continues(byte_at(text, begin))) --begin;
  const std::size_t end = begin + decode_at(text, begin).bytes;
  return text.substr(begin < limit && end > limit ? end : limit);
}

std::string printable(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t at = 0; at < text.size();) {
    const Decoded next = decode_at(text, at);
    at += next.bytes;
    if (!is_control(next.point) || next.point == '\n' || next.point == '\t')
      append_utf8(out, next.point);
    else if (next.point < 0x20)
      append_utf8(out, picture_of_first + next.point);
    else if (next.point == 0x7F)
      append_utf8(out, picture_of_delete);
    else
      out.append(format("<U+{:04X}>", static_cast<unsigned>(next.point)));
  }
  return out;
}

std::string printable_json(std::string_view json) {
  std::string out;
  out.reserve(json.size());
  for (std::size_t at = 0; at < json.size();) {
    std::size_t plain = at;  // most of it is ASCII
    while (plain < json.size() && json[plain] >= 0x20 && json[plain] < 0x7F) ++plain;
    out.append(json.substr(at, plain - at));
    at = plain;
    if (at == json.size()) break;
    const Decoded next = decode_at(json, at);
    at += next.bytes;
    const bool space = next.point == '\n' || next.point == '\t' || next.point == '\r';  // between its parts
    if (!is_control(next.point) || space)
      append_utf8(out, next.point);
    else
      out.append(format("\\u{:04x}", static_cast<unsigned>(next.point)));
  }
  return out;
}

std::string kept_text(std::string_view text, std::size_t bytes_max) {
  std::string valid = valid_utf8(cut_utf8(text, bytes_max));
  valid.resize(cut_utf8(valid, bytes_max).size());
  return valid;
}

}  // namespace pawl
