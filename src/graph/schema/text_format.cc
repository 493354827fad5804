#include "graph/schema/text_format.h"

#include <array>
#include <cstddef>

namespace pawl::graph {
namespace {

struct Named {
  std::string_view name;
  TextFormat format;
};
constexpr Named formats[] = {
    {"date", TextFormat::date},     {"time", TextFormat::time},          {"date-time", TextFormat::date_time},
    {"email", TextFormat::email},   {"uuid", TextFormat::uuid},          {"uri", TextFormat::uri},
    {"ipv4", TextFormat::ipv4},     {"ipv6", TextFormat::none},          {"hostname", TextFormat::none},
    {"duration", TextFormat::none}, {"regex", TextFormat::none},         {"password", TextFormat::none},
    {"int32", TextFormat::none},    {"int64", TextFormat::none},         {"float", TextFormat::none},
    {"double", TextFormat::none},   {"byte", TextFormat::none},          {"binary", TextFormat::none},
    {"iri", TextFormat::none},      {"uri-reference", TextFormat::none},
};
constexpr auto names = [] {
  std::array<std::string_view, std::size(formats)> out{};
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = formats[i].name;
  return out;
}();

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_hex(char c) { return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'); }
bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

// Takes exactly `digits` digits from the front; -1 when there are fewer.
int take_number(std::string_view& text, std::size_t digits) {
  if (text.size() < digits) return -1;
  int value = 0;
  for (std::size_t i = 0; i < digits; ++i) {
    if (!is_digit(text[i])) return -1;
    value = value * 10 + (text[i] - '0');
  }
  text.remove_prefix(digits);
  return value;
}

bool take(std::string_view& text, char wanted) {
  if (!text.starts_with(wanted)) return false;
  text.remove_prefix(1);
  return true;
}

bool take_date(std::string_view& text) {
  const int year = take_number(text, 4);
  if (year < 0 || !take(text, '-')) return false;
  const int month = take_number(text, 2);
  if (month < 1 || month > 12 || !take(text, '-')) return false;
  const int day = take_number(text, 2);
  const bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
  constexpr int days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
  return day >= 1 && day <= days[month - 1] + (month == 2 && leap ? 1 : 0);
}

bool take_clock(std::string_view& text, int second_max) {
  const int hour = take_number(text, 2);
  if (hour < 0 || hour > 23 || !take(text, ':')) return false;
  const int minute = take_number(text, 2);
  if (minute < 0 || minute > 59) return false;
  if (second_max < 0) return true;
  if (!take(text, ':')) return false;
  const int second = take_number(text, 2);
  return second >= 0 && second <= second_max;
}

bool take_time(std::string_view& text) {
  if (!take_clock(text, 60)) return false;
  if (take(text, '.')) {
    if (take_number(text, 1) < 0) return false;
    while (!text.empty() && is_digit(text.front())) text.remove_prefix(1);
  }
  if (take(text, 'Z') || take(text, 'z')) return true;
  return (take(text, '+') || take(text, '-')) && take_clock(text, -1);
}

bool is_uuid(std::string_view text) {
  if (text.size() != 36) return false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool dash = i == 8 || i == 13 || i == 18 || i == 23;
    if (dash ? text[i] != '-' : !is_hex(text[i])) return false;
  }
  return true;
}

bool is_email(std::string_view text) {
  const auto at = text.find('@');
  if (at == std::string_view::npos || at == 0 || at + 1 == text.size()) return false;
  if (text.find('@', at + 1) != std::string_view::npos) return false;
  for (const char c : text)
    if (static_cast<unsigned char>(c) <= ' ') return false;
  return text.back() != '.' && text[at + 1] != '.';
}

bool is_uri(std::string_view text) {
  const auto colon = text.find(':');
  if (colon == std::string_view::npos || colon == 0 || !is_letter(text[0])) return false;
  for (const char c : text.substr(0, colon))
    if (!is_letter(c) && !is_digit(c) && c != '+' && c != '-' && c != '.') return false;
  for (const char c : text)
    if (static_cast<unsigned char>(c) <= ' ') return false;
  return true;
}

bool is_ipv4(std::string_view text) {
  for (int part = 0; part < 4; ++part) {
    if (part > 0 && !take(text, '.')) return false;
    std::size_t digits = 0;
    while (digits < text.size() && digits < 4 && is_digit(text[digits])) ++digits;
    if (digits == 0 || digits > 3 || (digits > 1 && text[0] == '0')) return false;
    if (take_number(text, digits) > 255) return false;
  }
  return text.empty();
}

}  // namespace

std::optional<TextFormat> find_text_format(std::string_view name) {
  for (const Named& named : formats)
    if (named.name == name) return named.format;
  return std::nullopt;
}

std::span<const std::string_view> text_format_names() { return names; }

bool matches(TextFormat format, std::string_view text) {
  switch (format) {
    case TextFormat::none:
      return true;
    case TextFormat::date:
      return take_date(text) && text.empty();
    case TextFormat::time:
      return take_time(text) && text.empty();
    case TextFormat::date_time:
      return take_date(text) && (take(text, 'T') || take(text, 't')) && take_time(text) && text.empty();
    case TextFormat::email:
      return is_email(text);
    case TextFormat::uuid:
      return is_uuid(text);
    case TextFormat::uri:
      return is_uri(text);
    case TextFormat::ipv4:
      return is_ipv4(text);
  }
  return false;
}

}  // namespace pawl::graph
