#include "cli/terminal.h"

#include <unistd.h>

#include <cstdlib>

namespace pawl::cli {

namespace {

bool colours(int descriptor) {
  const char* no_color = std::getenv("NO_COLOR");
  const bool refused = no_color != nullptr && *no_color != '\0';
  return isatty(descriptor) == 1 && !refused;
}

const char* code_of(Ink ink) {
  switch (ink) {
    case Ink::plain:
      return "";
    case Ink::dim:
      return "\x1b[2m";
    case Ink::bold:
      return "\x1b[1m";
    case Ink::red:
      return "\x1b[31m";
    case Ink::green:
      return "\x1b[32m";
    case Ink::yellow:
      return "\x1b[33m";
    case Ink::blue:
      return "\x1b[34m";
    case Ink::cyan:
      return "\x1b[36m";
  }
  return "";
}

}  // namespace

std::string counted(std::uint64_t count, std::string_view noun) {
  return std::to_string(count) + " " + std::string(noun) + (count == 1 ? "" : "s");
}

Paint Paint::for_stdout(bool allowed) { return Paint(allowed && colours(STDOUT_FILENO)); }
Paint Paint::for_stderr(bool allowed) { return Paint(allowed && colours(STDERR_FILENO)); }

std::string Paint::operator()(Ink ink, std::string_view text) const {
  if (!on_ || ink == Ink::plain) return std::string(text);
  return std::string(code_of(ink)).append(text).append("\x1b[0m");
}

}  // namespace pawl::cli
