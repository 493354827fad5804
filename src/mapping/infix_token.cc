#include "mapping/infix_token.h"

#include "base/format.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>

namespace pawl::mapping {

namespace json = boost::json;

namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }
// Bytes of characters beyond ASCII count as letters: keys of data may be in any language.
bool begins_name(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '$' ||
         (static_cast<unsigned char>(c) >= 0x80);
}
bool continues_name(char c) { return begins_name(c) || is_digit(c); }

// Longer ones first.
constexpr std::string_view signs[] = {"==", "!=", "<=", ">=", "&&", "||", "??", "+", "-", "*",
                                      "/",  "%",  "<",  ">",  "!",  "?",  ":",  "(", ")", ","};

struct Slip {
  std::string_view wrong;
  std::string_view right;
};
constexpr Slip slips[] = {{"===", "=="}, {"!==", "!="}, {"=", "=="},
                          {"&", "&&"},   {"|", "||"},   {"**", "math.pow(a, b)"}};

std::optional<Slip> find_slip(std::string_view rest) {
  for (const Slip& slip : slips) {
    if (!rest.starts_with(slip.wrong)) continue;
    if (slip.wrong.size() == 1 && rest.size() > 1 && rest[1] == rest[0]) continue;  // == && ||
    return slip;
  }
  return std::nullopt;
}

// a.b.0.c; a dot must be followed by a name.
std::size_t name_end(std::string_view text, std::size_t from) {
  std::size_t at = from;
  while (at < text.size()) {
    if (continues_name(text[at])) {
      ++at;
    } else if (text[at] == '.' && at + 1 < text.size() && continues_name(text[at + 1])) {
      at += 2;
    } else {
      break;
    }
  }
  return at;
}

using Read = std::variant<ReadToken, TextMistake>;

Read read_number(std::string_view text, std::size_t from) {
  std::size_t end = from;
  bool whole = true;
  while (end < text.size() && is_digit(text[end])) ++end;
  if (end + 1 < text.size() && text[end] == '.' && is_digit(text[end + 1])) {
    whole = false;
    for (++end; end < text.size() && is_digit(text[end]);) ++end;
  }
  if (end < text.size() && (text[end] == 'e' || text[end] == 'E')) {
    std::size_t digits = end + 1;
    if (digits < text.size() && (text[digits] == '+' || text[digits] == '-')) ++digits;
    if (digits < text.size() && is_digit(text[digits])) {
      whole = false;
      for (end = digits; end < text.size() && is_digit(text[end]);) ++end;
    }
  }
  const std::string_view digits = text.substr(from, end - from);
  if (end < text.size() && (continues_name(text[end]) || text[end] == '.'))
    return TextMistake{
        from, format("\"{}\" is not a number", text.substr(from, std::max(name_end(text, end), end + 1) - from)), ""};
  Token token{Token::Kind::literal, from, std::string(digits), {}};
  std::int64_t integer = 0;
  if (whole && std::from_chars(digits.data(), digits.data() + digits.size(), integer).ec == std::errc{}) {
    token.value = integer;
    return ReadToken{std::move(token), end};
  }
  double number = 0;
  const auto read = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  if (read.ec != std::errc{} || !std::isfinite(number))
    return TextMistake{from, format("{} is too large or too small for a number", digits), ""};
  token.value = number;
  return ReadToken{std::move(token), end};
}

Read read_quoted(std::string_view text, std::size_t from) {
  const char quote = text[from];
  std::string out;
  for (std::size_t i = from + 1; i < text.size(); ++i) {
    if (text[i] == quote) return ReadToken{{Token::Kind::literal, from, {}, json::value(out)}, i + 1};
    if (text[i] != '\\') {
      out.push_back(text[i]);
      continue;
    }
    constexpr std::string_view written = "\\'\"ntr";
    constexpr std::string_view meant = "\\'\"\n\t\r";
    const std::size_t which = i + 1 < text.size() ? written.find(text[i + 1]) : std::string_view::npos;
    if (which == std::string_view::npos) return TextMistake{i, "a backslash stands before one of \\ ' \" n t r", ""};
    out.push_back(meant[which]);
    ++i;
  }
  return TextMistake{from, format("the quotation that begins with {} has no end", quote), ""};
}

}  // namespace

std::variant<ReadToken, TextMistake> read_token(std::string_view text, std::size_t from) {
  while (from < text.size() && is_space(text[from])) ++from;
  if (from >= text.size()) return ReadToken{{Token::Kind::end, text.size(), {}, {}}, text.size()};
  const char c = text[from];
  if (is_digit(c)) return read_number(text, from);
  if (c == '"' || c == '\'') return read_quoted(text, from);
  if (begins_name(c)) {
    const std::size_t end = name_end(text, from);
    return ReadToken{{Token::Kind::name, from, std::string(text.substr(from, end - from)), {}}, end};
  }
  if (c == '@') {
    const std::size_t end = name_end(text, from + 1);
    return ReadToken{{Token::Kind::function, from, std::string(text.substr(from + 1, end - from - 1)), {}}, end};
  }
  if (c == '{') {
    const std::size_t end = text.find_first_of("{}", from + 1);
    if (end == std::string_view::npos || text[end] == '{') return TextMistake{from, "this { is never closed", ""};
    return ReadToken{{Token::Kind::braced, from, std::string(text.substr(from + 1, end - from - 1)), {}}, end + 1};
  }
  if (const auto slip = find_slip(text.substr(from)))
    return TextMistake{from, format("there is no operator {}", slip->wrong), std::string(slip->right)};
  for (const std::string_view sign : signs)
    if (text.substr(from).starts_with(sign))
      return ReadToken{{Token::Kind::sign, from, std::string(sign), {}}, from + sign.size()};
  return TextMistake{from,
                     format("{} has no meaning here",
                            static_cast<unsigned char>(c) < 0x20 ? "a control character" : std::string_view(&c, 1)),
                     ""};
}

}  // namespace pawl::mapping
