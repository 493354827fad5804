// The values of `format` that are checked; all others are documentation.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace pawl::graph {

enum class TextFormat : std::uint8_t { none, date, time, date_time, email, uuid, uri, ipv4 };

// Empty for an unknown name; `none` for one that is known and not checked.
std::optional<TextFormat> find_text_format(std::string_view name);
std::span<const std::string_view> text_format_names();

bool matches(TextFormat format, std::string_view text);

}  // namespace pawl::graph
