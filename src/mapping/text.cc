#include "mapping/text.h"

#include <algorithm>
#include <vector>

namespace pawl::mapping {

namespace {

constexpr char32_t replacement = 0xFFFD;

constexpr unsigned char byte_at(std::string_view text, std::size_t at) { return static_cast<unsigned char>(text[at]); }

std::size_t units_of(char32_t point) { return point > 0xFFFF ? 2 : 1; }

}  // namespace

bool is_ascii(std::string_view text) {
  unsigned char all = 0;
  for (const char c : text) all = static_cast<unsigned char>(all | static_cast<unsigned char>(c));
  return all < 0x80;
}

std::size_t unit_count(std::string_view text) {
  if (is_ascii(text)) return text.size();
  std::size_t units = 0;
  for (std::size_t at = 0; at < text.size();) {
    const Decoded next = decode_at(text, at);
    units += units_of(next.point);
    at += next.bytes;
  }
  return units;
}

std::size_t byte_of_unit(std::string_view text, std::size_t unit) {
  if (is_ascii(text)) return std::min(unit, text.size());
  std::size_t units = 0;
  std::size_t at = 0;
  while (at < text.size() && units < unit) {
    const Decoded next = decode_at(text, at);
    units += units_of(next.point);
    at += next.bytes;
  }
  return at;
}

std::string slice_units(std::string_view text, std::size_t begin, std::size_t end) {
  if (is_ascii(text)) {
    begin = std::min(begin, text.size());
    return std::string(text.substr(begin, std::min(end, text.size()) - begin));
  }
  std::string out;
  std::size_t unit = 0;
  for (std::size_t at = 0; at < text.size() && unit < end;) {
    const Decoded next = decode_at(text, at);
    const std::size_t after = unit + units_of(next.point);
    if (unit >= begin && after <= end) {
      append_utf8(out, next.point);
    } else if (after > begin && after - unit == 2) {
      append_utf8(out, replacement);  // half of a pair is inside
    }
    unit = after;
    at += next.bytes;
  }
  return out;
}

int compare_units(std::string_view a, std::string_view b) {
  std::size_t at = 0;
  const std::size_t common = std::min(a.size(), b.size());
  while (at < common && a[at] == b[at]) ++at;
  if (at == common) return a.size() == b.size() ? 0 : (a.size() < b.size() ? -1 : 1);
  while (at > 0 && (byte_at(a, at) & 0xC0U) == 0x80U) --at;  // back to the start of the character
  char32_t left = decode_at(a, at).point;
  char32_t right = decode_at(b, at).point;
  // Points above U+FFFF are pairs that begin at D800, so they sort before E000..FFFF.
  const auto lifted = [](char32_t point) { return point >= 0xE000 && point <= 0xFFFF ? point + 0x200000 : point; };
  left = lifted(left);
  right = lifted(right);
  return left < right ? -1 : (left > right ? 1 : 0);
}

namespace {

// Knuth, Morris and Pratt: never goes back in the text.
std::size_t find_linear(std::string_view text, std::string_view needle, std::size_t from) {
  std::vector<std::size_t> border(needle.size(), 0);
  for (std::size_t i = 1, matched = 0; i < needle.size(); ++i) {
    while (matched > 0 && needle[i] != needle[matched]) matched = border[matched - 1];
    if (needle[i] == needle[matched]) ++matched;
    border[i] = matched;
  }
  for (std::size_t at = from, matched = 0; at < text.size(); ++at) {
    while (matched > 0 && text[at] != needle[matched]) matched = border[matched - 1];
    if (text[at] == needle[matched]) ++matched;
    if (matched == needle.size()) return at + 1 - matched;
  }
  return not_found;
}

// Below this product the plain search cannot be slow.
constexpr std::size_t plain_search_product_max = 1 << 16;

bool plain_search_is_fine(std::string_view text, std::string_view needle) {
  return needle.size() <= 4 || text.size() <= plain_search_product_max / needle.size();
}

}  // namespace

std::size_t find_text(std::string_view text, std::string_view needle, std::size_t from) {
  if (needle.empty()) return from <= text.size() ? from : not_found;
  if (from >= text.size() || needle.size() > text.size() - from) return not_found;
  if (!plain_search_is_fine(text, needle)) return find_linear(text, needle, from);
  const std::size_t found = text.find(needle, from);
  return found == std::string_view::npos ? not_found : found;
}

std::size_t find_last_text(std::string_view text, std::string_view needle, std::size_t from) {
  if (needle.size() > text.size()) return not_found;
  const std::size_t last = std::min(from, text.size() - needle.size());
  if (plain_search_is_fine(text, needle)) {
    const std::size_t found = text.rfind(needle, last);
    return found == std::string_view::npos ? not_found : found;
  }
  std::string backwards(text.substr(0, last + needle.size()));
  std::reverse(backwards.begin(), backwards.end());
  const std::string mirrored(needle.rbegin(), needle.rend());
  const std::size_t found = find_linear(backwards, mirrored, 0);
  return found == not_found ? not_found : backwards.size() - found - needle.size();
}

bool is_white_space(char32_t point) {
  switch (point) {
    case 0x09:
    case 0x0A:
    case 0x0B:
    case 0x0C:
    case 0x0D:
    case 0x20:
    case 0xA0:
    case 0x1680:
    case 0x2028:
    case 0x2029:
    case 0x202F:
    case 0x205F:
    case 0x3000:
    case 0xFEFF:
      return true;
    default:
      return point >= 0x2000 && point <= 0x200A;
  }
}

std::string_view trim_start(std::string_view text) {
  std::size_t at = 0;
  while (at < text.size()) {
    const Decoded next = decode_at(text, at);
    if (!is_white_space(next.point)) break;
    at += next.bytes;
  }
  return text.substr(at);
}

std::string_view trim_end(std::string_view text) {
  std::size_t end = text.size();
  while (end > 0) {
    std::size_t begin = end - 1;
    while (begin > 0 && end - begin < 4 && (byte_at(text, begin) & 0xC0U) == 0x80U) --begin;
    const Decoded last = decode_at(text, begin);
    if (begin + last.bytes != end || !is_white_space(last.point)) break;
    end = begin;
  }
  return text.substr(0, end);
}

}  // namespace pawl::mapping
