#include "ledger/dimensions.h"

#include "base/format.h"
#include "base/invariant.h"

#include <algorithm>
#include <charconv>
#include <iterator>

namespace pawl::ledger {

namespace {

// Longest text that can still be canonical: refuses a hostile one before it is walked.
constexpr std::size_t part_length_max = sizeof(",99999998") - 1;
constexpr std::size_t text_length_max = Dimensions::depth_max * part_length_max;
constexpr std::size_t shown_length_max = 64;

Error invalid(std::string_view text, std::string_view why) {
  return Error{ErrorCode::invalid,
               format("dimensional address \"{}\": {}", text.substr(0, shown_length_max), why)};
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }

std::size_t digits_from(std::string_view text, std::size_t at) {
  std::size_t end = at;
  while (end < text.size() && is_digit(text[end])) ++end;
  return end - at;
}

std::uint32_t number(std::string_view digits) {
  std::uint32_t value = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), value);
  return value;
}

}  // namespace

Result<Dimensions> Dimensions::parse(std::string_view text) {
  if (text.empty()) return invalid(text, "it is empty; a trigger stands at \",0\"");
  if (text.size() > text_length_max)
    return Error{ErrorCode::over_limit,
                 format("a dimensional address of {} characters; at most {} are allowed",
                        text.size(), text_length_max)};
  std::size_t depth = 0;
  for (std::size_t at = 0; at < text.size(); ++depth) {
    if (text[at] != ',') return invalid(text, "every part is a comma and a number");
    const std::size_t length = digits_from(text, at + 1);
    if (length == 0) return invalid(text, "a part has no number");
    if (length > 1 && text[at + 1] == '0') return invalid(text, "a number has a leading zero");
    if (length >= part_length_max || number(text.substr(at + 1, length)) > plane_max)
      return Error{ErrorCode::over_limit,
                   format("a plane in a dimensional address is above {}", plane_max)};
    at += 1 + length;
  }
  if (depth > depth_max)
    return Error{ErrorCode::over_limit, format("a dimensional address has {} parts; at most {} are "
                                               "allowed",
                                               depth, depth_max)};
  return Dimensions(std::string(text));
}

Dimensions Dimensions::in_plane(std::uint32_t plane) const {
  invariant(plane <= plane_max, "a plane comes from a ledger's ordinal");
  char digits[part_length_max];
  const auto end = std::to_chars(std::begin(digits), std::end(digits), plane).ptr;
  const std::string_view kept = std::string_view(text_).substr(0, text_.rfind(',') + 1);
  std::string text;
  text.reserve(kept.size() + static_cast<std::size_t>(end - digits));
  text.append(kept).append(digits, end);
  return Dimensions(std::move(text));
}

Dimensions Dimensions::child() const {
  invariant(text_.size() / 2 < depth_max || depth() < depth_max, "a graph's depth has a limit");
  std::string text;
  text.reserve(text_.size() + 2);
  text.append(text_).append(",0");
  return Dimensions(std::move(text));
}

Dimensions Dimensions::prefix(std::size_t depth) const {
  invariant(depth >= 1, "a path has at least one part");
  std::size_t end = 0;
  for (std::size_t part = 0; part < depth; ++part) {
    invariant(end < text_.size(), "an ancestor is not deeper than its descendant");
    end += 1 + digits_from(text_, end + 1);
  }
  return Dimensions(text_.substr(0, end));
}

std::size_t Dimensions::depth() const {
  return static_cast<std::size_t>(std::count(text_.begin(), text_.end(), ','));
}

std::uint32_t Dimensions::plane() const {
  return number(std::string_view(text_).substr(text_.rfind(',') + 1));
}

std::strong_ordering operator<=>(const Dimensions& a, const Dimensions& b) {
  const auto differ = std::mismatch(a.text_.begin(), a.text_.end(), b.text_.begin(), b.text_.end());
  const auto at = static_cast<std::size_t>(differ.first - a.text_.begin());
  const std::size_t a_digits = digits_from(a.text_, at);
  const std::size_t b_digits = digits_from(b.text_, at);
  // Up to here both numbers are the same digits, so the one with more digits left is the larger.
  if (a_digits != b_digits) return a_digits <=> b_digits;
  // Behind its end a text reads '\0', which sorts before the comma of a deeper path.
  return a.text_[at] <=> b.text_[at];
}

}  // namespace pawl::ledger
