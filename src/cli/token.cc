#include "cli/token.h"

#include <fmt/format.h>

#include <cstdlib>
#include <fstream>

namespace pawl::cli {

namespace {

Error wrong(std::string why) { return {ErrorCode::invalid, std::move(why)}; }

// Without what an editor of another system, or echo, adds.
std::string trimmed(std::string token) {
  while (!token.empty() && (token.back() == '\r' || token.back() == ' ' || token.back() == '\t')) token.pop_back();
  return token;
}

}  // namespace

Result<std::string> read_token(const std::string& token_file) {
  std::string token;
  if (!token_file.empty()) {
    std::ifstream stream(token_file);
    if (!stream) return wrong(fmt::format("the token file {} cannot be read", token_file));
    std::getline(stream, token);
    token = trimmed(std::move(token));
    if (token.empty()) return wrong(fmt::format("the first line of the token file {} is empty", token_file));
  } else if (const char* given = std::getenv("PAWL_TOKEN"); given != nullptr) {
    token = trimmed(given);
    if (token.empty()) return wrong("the variable PAWL_TOKEN is set but empty; unset it if no token is wanted");
  }
  for (const char c : token)
    if (c <= ' ' || c == 0x7f) return wrong("the token has a space or another character that no header can carry");
  return token;
}

}  // namespace pawl::cli
