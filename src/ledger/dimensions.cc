#include "ledger/dimensions.h"

#include "base/format.h"
#include "base/invariant.h"

#include <algorithm>
#include <charconv>
#include <vector>

namespace pawl::ledger {

namespace {

constexpr std::size_t zeros_folded_min = 8;
constexpr std::size_t number_length_max = sizeof("99999998") - 1;
// The longest text that can still be canonical: a longer, hostile one is refused before it is parsed.
constexpr std::size_t text_length_max = Dimensions::depth_max * (1 + number_length_max);
constexpr std::size_t shown_length_max = 64;

// A part, or a row of zeros.
struct Span {
  std::uint32_t plane;
  std::size_t count;
};
using Path = std::vector<Span>;

Error invalid(std::string_view text, std::string_view why) {
  return Error{ErrorCode::invalid, format("dimensional address \"{}\": {}", text.substr(0, shown_length_max), why)};
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

void append(Path& path, std::uint32_t plane, std::size_t count) {
  if (count == 0) return;
  if (plane == 0 && !path.empty() && path.back().plane == 0)
    path.back().count += count;
  else
    path.push_back({plane, count});
}

// REQUIRES: text was checked by parse() or made by text_of().
Path path_of(std::string_view text) {
  Path path;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t length = digits_from(text, at + 1);
    const std::uint32_t plane = number(text.substr(at + 1, length));
    at += 1 + length;
    std::size_t count = 1;
    if (at < text.size() && text[at] == '*') {
      const std::size_t digits = digits_from(text, at + 1);
      count = number(text.substr(at + 1, digits));
      at += 1 + digits;
    }
    append(path, plane, count);
  }
  return path;
}

std::string text_of(const Path& path) {
  std::string text;
  for (const Span& span : path) {
    if (span.plane == 0 && span.count >= zeros_folded_min) {
      text += format(",0*{}", span.count);
    } else {
      for (std::size_t i = 0; i < span.count; ++i) text += format(",{}", span.plane);
    }
  }
  return text;
}

std::size_t depth_of(const Path& path) {
  std::size_t depth = 0;
  for (const Span& span : path) depth += span.count;
  return depth;
}

void drop_last(Path& path) {
  if (--path.back().count == 0) path.pop_back();
}

}  // namespace

Result<Dimensions> Dimensions::parse(std::string_view text) {
  if (text.empty()) return invalid(text, "it is empty; a trigger stands at \",0\"");
  if (text.size() > text_length_max)
    return Error{ErrorCode::over_limit, format("a dimensional address of {} characters; at most {} are allowed",
                                               text.size(), text_length_max)};
  std::size_t depth = 0;
  for (std::size_t at = 0; at < text.size();) {
    if (text[at] != ',') return invalid(text, "every part is a comma and a number");
    const std::size_t length = digits_from(text, at + 1);
    if (length == 0) return invalid(text, "a part has no number");
    if (length > 1 && text[at + 1] == '0') return invalid(text, "a number has a leading zero");
    if (length > number_length_max || number(text.substr(at + 1, length)) > plane_max)
      return Error{ErrorCode::over_limit, format("a plane in a dimensional address is above {}", plane_max)};
    const bool zero = length == 1 && text[at + 1] == '0';
    at += 1 + length;
    std::size_t count = 1;
    if (zero && at < text.size() && text[at] == '*') {
      const std::size_t digits = digits_from(text, at + 1);
      if (digits == 0 || text[at + 1] == '0') return invalid(text, "a row of zeros has no length");
      if (digits > number_length_max)
        return Error{ErrorCode::over_limit, "a row of zeros in a dimensional address is too long"};
      count = number(text.substr(at + 1, digits));
      at += 1 + digits;
    }
    depth += count;
    if (depth > depth_max)
      return Error{ErrorCode::over_limit, format("a dimensional address has more than {} parts", depth_max)};
  }
  // A path has exactly one text: two texts for one place would be two places.
  if (text_of(path_of(text)) != text) return invalid(text, "eight or more zeros in a row are written as \",0*8\"");
  return Dimensions(std::string(text));
}

Dimensions Dimensions::in_plane(std::uint32_t plane) const {
  invariant(plane <= plane_max, "a plane comes from a ledger's ordinal");
  Path path = path_of(text_);
  if (path.back().plane == plane) return *this;
  drop_last(path);
  append(path, plane, 1);
  return Dimensions(text_of(path));
}

Dimensions Dimensions::child() const {
  // The ordinary case, without parsing the text: a short path with few zeros at its end.
  if (text_.size() < 2 * (zeros_folded_min - 1) && text_.find('*') == std::string::npos) {
    std::string text;
    text.reserve(text_.size() + 2);
    text.append(text_).append(",0");
    return Dimensions(std::move(text));
  }
  Path path = path_of(text_);
  invariant(depth_of(path) < depth_max, "a graph's depth has a limit");
  append(path, 0, 1);
  return Dimensions(text_of(path));
}

Dimensions Dimensions::prefix(std::size_t depth) const {
  invariant(depth >= 1, "a path has at least one part");
  Path kept;
  std::size_t left = depth;
  for (const Span& span : path_of(text_)) {
    append(kept, span.plane, std::min(span.count, left));
    left -= std::min(span.count, left);
  }
  invariant(left == 0, "an ancestor is not deeper than its descendant");
  return Dimensions(text_of(kept));
}

std::size_t Dimensions::depth() const { return depth_of(path_of(text_)); }

std::uint32_t Dimensions::plane() const { return path_of(text_).back().plane; }

std::strong_ordering operator<=>(const Dimensions& a, const Dimensions& b) {
  const Path left = path_of(a.text_);
  const Path right = path_of(b.text_);
  std::size_t i = 0;
  std::size_t j = 0;
  std::size_t left_used = 0;
  std::size_t right_used = 0;
  while (i < left.size() && j < right.size()) {
    if (left[i].plane != right[j].plane) return left[i].plane <=> right[j].plane;
    const std::size_t shared = std::min(left[i].count - left_used, right[j].count - right_used);
    left_used += shared;
    right_used += shared;
    if (left_used == left[i].count) ++i, left_used = 0;
    if (right_used == right[j].count) ++j, right_used = 0;
  }
  return (i < left.size()) <=> (j < right.size());
}

}  // namespace pawl::ledger
