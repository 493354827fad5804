#include "core/guid.h"

#include <charconv>

#include "base/format.h"

namespace pawl::core {

std::string Guid::text() const { return format("{:016x}{:016x}", high, low); }

std::string Guid::shown() const { return format("{:016x}", high); }

std::optional<Guid> Guid::parse(std::string_view text) {
  if (text.size() != 32) return std::nullopt;
  Guid guid;
  const auto half = [](std::string_view part, std::uint64_t& out) {
    const auto end = part.data() + part.size();
    const auto parsed = std::from_chars(part.data(), end, out, 16);
    return parsed.ec == std::errc() && parsed.ptr == end;
  };
  if (!half(text.substr(0, 16), guid.high) || !half(text.substr(16), guid.low)) return std::nullopt;
  return guid;
}

}  // namespace pawl::core
