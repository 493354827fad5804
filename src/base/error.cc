#include "pawl/error.h"

namespace pawl {

std::string_view name_of(ErrorCode code) {
  switch (code) {
    case ErrorCode::invalid:
      return "invalid";
    case ErrorCode::not_found:
      return "not_found";
    case ErrorCode::already_exists:
      return "already_exists";
    case ErrorCode::already_done:
      return "already_done";
    case ErrorCode::conflict:
      return "conflict";
    case ErrorCode::fenced:
      return "fenced";
    case ErrorCode::retry_later:
      return "retry_later";
    case ErrorCode::outcome_unknown:
      return "outcome_unknown";
    case ErrorCode::corrupt:
      return "corrupt";
    case ErrorCode::over_limit:
      return "over_limit";
    case ErrorCode::unsupported:
      return "unsupported";
    case ErrorCode::failed:
      return "failed";
  }
  return "?";
}

std::string to_string(const Error& error) {
  std::string text(name_of(error.code));
  if (!error.detail.empty()) text.append(": ").append(error.detail);
  return text;
}

}  // namespace pawl
