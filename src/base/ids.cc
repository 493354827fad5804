#include "pawl/ids.h"

#include "base/format.h"
#include "base/limits.h"

namespace pawl {

namespace {
constexpr std::string_view punctuation = "._-:/@+=";

bool allowed(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
         punctuation.find(c) != std::string_view::npos;
}
}  // namespace

Status check_name(std::string_view what, std::string_view name) {
  if (name.empty()) return Error{ErrorCode::invalid, format("{} is empty", what)};
  if (name.size() > limits::name_bytes_max)
    return Error{ErrorCode::invalid,
                 format("{} has {} bytes; at most {} are allowed", what, name.size(), limits::name_bytes_max)};
  if (name.front() == '-')
    return Error{ErrorCode::invalid, format("{} starts with '-', which reads as an option", what)};
  for (std::size_t i = 0; i < name.size(); ++i)
    if (!allowed(name[i]))
      return Error{ErrorCode::invalid,
                   format("{}: byte {} (0x{:02x}) is not allowed; use letters, digits and {}", what, i + 1,
                          static_cast<unsigned>(static_cast<unsigned char>(name[i])), punctuation)};
  return {};
}

}  // namespace pawl
