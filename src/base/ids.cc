#include "pawl/ids.h"

#include "base/format.h"
#include "base/job_id.h"
#include "base/limits.h"

namespace pawl {

namespace {
constexpr std::string_view punctuation = "._-:/@+=";
constexpr std::string_view punctuation_of_jobs = "._-:/@+=$,";

bool allowed(char c, std::string_view marks) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
         marks.find(c) != std::string_view::npos;
}

Status check_characters(std::string_view what, std::string_view name, std::string_view marks) {
  if (name.empty()) return Error{ErrorCode::invalid, format("{} is empty", what)};
  if (name.size() > limits::name_bytes_max)
    return Error{ErrorCode::invalid,
                 format("{} has {} bytes; at most {} are allowed", what, name.size(), limits::name_bytes_max)};
  for (std::size_t i = 0; i < name.size(); ++i)
    if (!allowed(name[i], marks))
      return Error{ErrorCode::invalid,
                   format("{}: byte {} (0x{:02x}) is not allowed; use letters, digits and {}", what, i + 1,
                          static_cast<unsigned>(static_cast<unsigned char>(name[i])), marks)};
  return {};
}
}  // namespace

Status check_name(std::string_view what, std::string_view name) {
  if (name.starts_with('-'))
    return Error{ErrorCode::invalid, format("{} starts with '-', which reads as an option", what)};
  return check_characters(what, name, punctuation);
}

Status check_job_id(std::string_view what, std::string_view id) {
  return check_characters(what, id, punctuation_of_jobs);
}

}  // namespace pawl
