// Times as people write them, on the command line and in queries.
#pragma once

#include <string>
#include <string_view>

#include "pawl/result.h"
#include "pawl/time.h"

namespace pawl {

// A time: 2026-11-17, 2026-11-17T03:00, with seconds and parts of them, all UTC; 03:00 (today); or how long ago: 90s,
// 15m, 2h, 3d.
Result<Instant> parse_time(const std::string& what, const std::string& text, Instant now);
// 250ms, 90s, 15m, 2h, 3d, 1.5s; a bare number: seconds.
Result<Duration> parse_duration(std::string_view text);
// The same with its unit, which people leave out by mistake.
Result<Duration> parse_age(const std::string& what, const std::string& text);

}  // namespace pawl
