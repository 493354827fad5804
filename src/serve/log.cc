#include "serve/log.h"

#include <chrono>

#include "base/format.h"
#include "base/utf8.h"
#include "mapping/json_text.h"
#include "pawl/time.h"
#include "serve/job_json.h"

namespace pawl::serve {

std::string_view name_of(Log::Level level) {
  switch (level) {
    case Log::Level::debug:
      return "debug";
    case Log::Level::info:
      return "info";
    case Log::Level::warn:
      return "warn";
    case Log::Level::error:
      return "error";
  }
  return "";
}

void Log::say(Level level, std::string_view message, const Facts& facts) {
  if (!wants(level)) return;
  const std::string at = time_text(Instant(std::chrono::system_clock::now()));
  std::string line;
  if (form_ == Form::json) {
    line = format("{{\"at\":\"{}\",\"level\":\"{}\",\"message\":", at, name_of(level));
    mapping::append_json_string(line, valid_utf8(std::string(message)));
    for (const auto& [name, value] : facts) {
      line += format(",\"{}\":", name);
      mapping::append_json_string(line, valid_utf8(value));
    }
    line += "}\n";
  } else {
    line = format("{} {:<5} {}", at, name_of(level), printable(message));
    for (const auto& [name, value] : facts) line += format(" {}={}", name, printable(value));
    line += "\n";
  }
  const std::lock_guard lock(mutex_);
  write_(line);
}

}  // namespace pawl::serve
