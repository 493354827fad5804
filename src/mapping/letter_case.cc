// toLowerCase and toUpperCase: ASCII by arithmetic, the rest by table, and the one rule that depends on the neighbours.
#include "mapping/case_table.h"
#include "mapping/text.h"

namespace pawl::mapping {

namespace {

constexpr char32_t capital_sigma = 0x3A3;
constexpr char32_t final_sigma = 0x3C2;

bool is_letter(char32_t point) {
  return lower_case(point).points[0] != point || upper_case(point).points[0] != point ||
         (point >= 'a' && point <= 'z') || (point >= 'A' && point <= 'Z');
}

// A capital sigma at the end of a word becomes the final form.
bool ends_word(std::string_view text, std::size_t at, std::size_t bytes, char32_t before) {
  const bool follows_letter = is_letter(before);
  const std::size_t next = at + bytes;
  const bool precedes_letter = next < text.size() && is_letter(decode_at(text, next).point);
  return follows_letter && !precedes_letter;
}

void append(std::string& out, const CaseMapping& mapping) {
  for (const char32_t point : mapping.points) {
    if (point == 0) break;
    append_utf8(out, point);
  }
}

}  // namespace

std::string to_lower(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  char32_t before = 0;
  for (std::size_t at = 0; at < text.size();) {
    const Decoded next = decode_at(text, at);
    if (next.point < 0x80) {
      const bool capital = next.point >= 'A' && next.point <= 'Z';
      out.push_back(static_cast<char>(capital ? next.point + 32 : next.point));
    } else if (next.point == capital_sigma && ends_word(text, at, next.bytes, before)) {
      append_utf8(out, final_sigma);
    } else {
      append(out, lower_case(next.point));
    }
    before = next.point;
    at += next.bytes;
  }
  return out;
}

std::string to_upper(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t at = 0; at < text.size();) {
    const Decoded next = decode_at(text, at);
    if (next.point < 0x80) {
      const bool small = next.point >= 'a' && next.point <= 'z';
      out.push_back(static_cast<char>(small ? next.point - 32 : next.point));
    } else {
      append(out, upper_case(next.point));
    }
    at += next.bytes;
  }
  return out;
}

}  // namespace pawl::mapping
