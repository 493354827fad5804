#include "serve/request.h"

#include <algorithm>
#include <cstdlib>

#include "base/format.h"
#include "base/utf8.h"

namespace pawl::serve {

namespace {

int digit_of(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

bool is_unreserved(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '.' ||
         c == '_' || c == '~';
}

std::vector<std::string_view> split(std::string_view text, char at) {
  std::vector<std::string_view> parts;
  for (;;) {
    const std::size_t end = text.find(at);
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

constexpr std::size_t target_shown_max = 60;

}  // namespace

Result<std::string> percent_decoded(std::string_view text, bool plus) {
  std::string decoded;
  decoded.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '+' && plus) {
      decoded.push_back(' ');
    } else if (text[i] != '%') {
      decoded.push_back(text[i]);
    } else {
      const int high = i + 2 < text.size() ? digit_of(text[i + 1]) : -1;
      const int low = i + 2 < text.size() ? digit_of(text[i + 2]) : -1;
      if (high < 0 || low < 0)
        return Error{ErrorCode::invalid, format("\"{}\": write % with two hexadecimal digits, such as %2F",
                                                kept_text(text, target_shown_max))};
      decoded.push_back(static_cast<char>(high * 16 + low));
      i += 2;
    }
  }
  if (decoded.find('\0') != std::string::npos) return Error{ErrorCode::invalid, "a target has no zero byte"};
  return decoded;
}

std::string percent_encoded(std::string_view text) {
  std::string encoded;
  for (const char c : text)
    if (is_unreserved(c))
      encoded.push_back(c);
    else
      encoded += format("%{:02X}", static_cast<unsigned>(static_cast<unsigned char>(c)));
  return encoded;
}

const std::string* Request::header(std::string_view name) const {
  const auto found = std::find_if(headers.begin(), headers.end(), [&](const auto& one) { return one.first == name; });
  return found == headers.end() ? nullptr : &found->second;
}

std::optional<std::string> Request::asked(std::string_view name) const {
  for (const auto& [key, value] : query)
    if (key == name) return value;
  return std::nullopt;
}

std::vector<std::string> Request::asked_all(std::string_view name) const {
  std::vector<std::string> values;
  for (const auto& [key, value] : query)
    if (key == name)
      for (const std::string_view part : split(value, ','))
        if (!part.empty()) values.emplace_back(part);
  return values;
}

const std::string& Request::captured_as(std::string_view name) const {
  for (const auto& [key, value] : captured)
    if (key == name) return value;
  std::abort();  // a handler asks for what its own route has
}

Status read_target(std::string_view target, Request& request) {
  if (target.empty() || target.front() != '/')
    return Error{ErrorCode::invalid, format("\"{}\": a target begins with /", kept_text(target, target_shown_max))};
  const std::size_t mark = target.find('?');
  request.path = std::string(target.substr(0, mark));
  for (const std::string_view part : split(std::string_view(request.path).substr(1), '/')) {
    auto decoded = percent_decoded(part, false);
    if (!decoded) return decoded.error();
    request.parts.push_back(std::move(*decoded));
  }
  if (mark == std::string_view::npos) return {};
  for (const std::string_view pair : split(target.substr(mark + 1), '&')) {
    if (pair.empty()) continue;
    const std::size_t equals = pair.find('=');
    auto name = percent_decoded(pair.substr(0, equals), true);
    auto value = percent_decoded(equals == std::string_view::npos ? "" : pair.substr(equals + 1), true);
    if (!name) return name.error();
    if (!value) return value.error();
    request.query.emplace_back(std::move(*name), std::move(*value));
  }
  return {};
}

}  // namespace pawl::serve
