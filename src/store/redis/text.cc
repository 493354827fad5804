#include "store/redis/text.h"

#include "base/format.h"

namespace pawl::store::redis {

namespace {

bool is_plain(char byte) { return byte > ' ' && byte <= '~' && byte != '%' && byte != ','; }

int digit_of(char byte) {
  if (byte >= '0' && byte <= '9') return byte - '0';
  if (byte >= 'a' && byte <= 'f') return byte - 'a' + 10;
  return -1;
}

}  // namespace

std::string escape(std::string_view text) {
  if (text.empty()) return "%";
  std::string word;
  word.reserve(text.size());
  for (const char byte : text) {
    if (is_plain(byte))
      word.push_back(byte);
    else
      word += format("%{:02x}", static_cast<unsigned char>(byte));
  }
  return word;
}

std::string unescape(std::string_view word) {
  if (word == "%") return {};
  std::string text;
  text.reserve(word.size());
  for (std::size_t i = 0; i < word.size(); ++i) {
    const bool escaped =
        word[i] == '%' && i + 2 < word.size() && digit_of(word[i + 1]) >= 0 && digit_of(word[i + 2]) >= 0;
    if (!escaped) {
      text.push_back(word[i]);
      continue;
    }
    text.push_back(static_cast<char>(digit_of(word[i + 1]) * 16 + digit_of(word[i + 2])));
    i += 2;
  }
  return text;
}

std::string joined(std::string_view part) { return format("{}:{}", part.size(), part); }

std::optional<std::vector<std::string>> parts_of(std::string_view names) {
  std::vector<std::string> parts;
  while (!names.empty()) {
    const std::size_t colon = names.find(':');
    if (colon == std::string_view::npos) return std::nullopt;
    const auto size = number_in<std::size_t>(names.substr(0, colon));
    if (!size || *size > names.size() - colon - 1) return std::nullopt;
    parts.emplace_back(names.substr(colon + 1, *size));
    names.remove_prefix(colon + 1 + *size);
  }
  return parts;
}

namespace {

std::string padded(std::uint64_t number, std::size_t width) {
  const std::string digits = decimal(number);
  return std::string(width - std::min(width, digits.size()), '0') + digits;
}

}  // namespace

std::string wide(std::uint64_t number) { return padded(number, 20); }
std::string wide_activity(std::uint32_t activity) { return padded(activity, 10); }

std::vector<std::string_view> words_of(std::string_view text, char between) {
  std::vector<std::string_view> words;
  while (!text.empty()) {
    const std::size_t end = text.find(between);
    words.push_back(text.substr(0, end));
    if (end == std::string_view::npos) break;
    text.remove_prefix(end + 1);
  }
  return words;
}

}  // namespace pawl::store::redis
