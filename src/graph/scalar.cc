#include "graph/scalar.h"

#include <charconv>
#include <cmath>
#include <cstdint>

namespace pawl::graph {
namespace {

constexpr std::string_view core_tag = "tag:yaml.org,2002:";

bool is_digit(char c) { return c >= '0' && c <= '9'; }

bool all_digits(std::string_view text) {
  if (text.empty()) return false;
  for (const char c : text)
    if (!is_digit(c)) return false;
  return true;
}

bool is_one_of(std::string_view text, std::initializer_list<std::string_view> words) {
  for (const std::string_view word : words)
    if (text == word) return true;
  return false;
}

bool set_text(std::string_view text, Node& node) {
  node.kind = Node::Kind::text;
  node.text = text;
  return true;
}

bool set_real(double value, Node& node) {
  if (!std::isfinite(value)) return false;
  node.kind = Node::Kind::real;
  node.real = value;
  return true;
}

// Sign, digits, optional fraction and exponent; nothing else is a number.
bool looks_like_number(std::string_view text) {
  if (text.starts_with('-') || text.starts_with('+')) text.remove_prefix(1);
  std::size_t at = 0;
  std::size_t digit_count = 0;
  while (at < text.size() && is_digit(text[at])) ++at, ++digit_count;
  if (at < text.size() && text[at] == '.') {
    ++at;
    while (at < text.size() && is_digit(text[at])) ++at, ++digit_count;
  }
  if (digit_count == 0) return false;
  if (at < text.size() && (text[at] == 'e' || text[at] == 'E')) {
    ++at;
    if (at < text.size() && (text[at] == '-' || text[at] == '+')) ++at;
    return all_digits(text.substr(at));
  }
  return at == text.size();
}

bool parse_decimal(std::string_view text, Node& node) {
  if (text.starts_with('+')) text.remove_prefix(1);
  const std::string_view digits = text.starts_with('-') ? text.substr(1) : text;
  if (all_digits(digits)) {
    std::int64_t value = 0;
    const auto result = std::from_chars(text.data(), text.data() + text.size(), value);
    if (result.ec == std::errc{}) {
      node.kind = Node::Kind::integer;
      node.integer = value;
      return true;
    }
  }
  double value = 0;
  const auto result = std::from_chars(text.data(), text.data() + text.size(), value);
  // Too large for a double: there is no JSON number for it. Too small: zero.
  if (result.ec == std::errc::result_out_of_range)
    return std::abs(value) < 1 && text.find("e-") != std::string_view::npos ? set_real(0, node) : false;
  return set_real(value, node);
}

bool parse_based(std::string_view digits, int base, Node& node) {
  std::int64_t value = 0;
  const auto result = std::from_chars(digits.data(), digits.data() + digits.size(), value, base);
  if (result.ec != std::errc{} || result.ptr != digits.data() + digits.size()) return false;
  node.kind = Node::Kind::integer;
  node.integer = value;
  return true;
}

bool is_null(std::string_view text) { return text.empty() || is_one_of(text, {"~", "null", "Null", "NULL"}); }
bool is_true(std::string_view text) { return is_one_of(text, {"true", "True", "TRUE"}); }
bool is_false(std::string_view text) { return is_one_of(text, {"false", "False", "FALSE"}); }

}  // namespace

bool resolve_scalar(std::string_view text, ScalarStyle style, Node& node) {
  if (style == ScalarStyle::quoted) return set_text(text, node);
  if (is_null(text)) {
    node.kind = Node::Kind::null;
    return true;
  }
  if (is_true(text) || is_false(text)) {
    node.kind = Node::Kind::boolean;
    node.truth = is_true(text);
    return true;
  }
  if (text.starts_with("0x") && parse_based(text.substr(2), 16, node)) return true;
  if (text.starts_with("0o") && parse_based(text.substr(2), 8, node)) return true;
  if (looks_like_number(text)) return parse_decimal(text, node);
  const std::string_view unsigned_text = text.starts_with('-') || text.starts_with('+') ? text.substr(1) : text;
  if (is_one_of(unsigned_text, {".inf", ".Inf", ".INF", ".nan", ".NaN", ".NAN"})) return false;
  return set_text(text, node);
}

bool resolve_tagged(std::string_view text, std::string_view tag, Node& node) {
  if (!tag.starts_with(core_tag)) return false;
  tag.remove_prefix(core_tag.size());
  if (tag == "str") return set_text(text, node);
  if (!resolve_scalar(text, ScalarStyle::plain, node)) return false;
  if (tag == "null") return node.kind == Node::Kind::null;
  if (tag == "bool") return node.kind == Node::Kind::boolean;
  if (tag == "int") return node.kind == Node::Kind::integer;
  if (tag != "float") return false;
  if (node.kind == Node::Kind::integer) return set_real(static_cast<double>(node.integer), node);
  return node.kind == Node::Kind::real;
}

}  // namespace pawl::graph
