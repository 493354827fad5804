// What a failed attempt said, in few words for people: of {"code":402,"message":"declined","data":...}, as a
// pawl::Failure is kept, "declined" with its quotes. Whatever else an output is stays as it is.
#pragma once

#include <cstddef>
#include <string_view>

namespace pawl {

inline std::string_view failure_words(std::string_view output) {
  constexpr std::string_view begin = R"({"code":)";
  constexpr std::string_view middle = R"(,"message":)";
  if (!output.starts_with(begin)) return output;
  const std::size_t behind_code = output.find_first_not_of("-0123456789", begin.size());
  if (behind_code == std::string_view::npos || !output.substr(behind_code).starts_with(middle)) return output;
  const std::string_view text = output.substr(behind_code + middle.size());
  if (!text.starts_with('"')) return output;
  for (std::size_t i = 1; i < text.size(); ++i) {
    if (text[i] == '"') return text.substr(0, i + 1);
    if (text[i] == '\\') ++i;
  }
  return output;
}

}  // namespace pawl
