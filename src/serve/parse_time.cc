#include "serve/parse_time.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <ctime>
#include <string_view>
#include <utility>

#include "base/format.h"
#include "base/limits.h"
#include "base/utf8.h"

namespace pawl {

namespace {

Instant instant_of(std::int64_t year, int month, int day, int hour, int minute, int second, int micros) {
  std::tm parts{};
  parts.tm_year = static_cast<int>(year - 1900);
  parts.tm_mon = month - 1;
  parts.tm_mday = day;
  parts.tm_hour = hour;
  parts.tm_min = minute;
  parts.tm_sec = second;
  return Instant::from_micros(static_cast<std::int64_t>(timegm(&parts)) * 1'000'000 + micros);
}

constexpr std::size_t shown_max = 60;
constexpr std::array<std::pair<std::string_view, double>, 6> units{
    {{"ms", 1e3}, {"s", 1e6}, {"", 1e6}, {"m", 60e6}, {"h", 3600e6}, {"d", 86400e6}}};

bool in(int value, int least, int most) { return value >= least && value <= most; }

}  // namespace

Result<Duration> parse_duration(std::string_view text) {
  const std::string shown = kept_text(text, shown_max);
  const Error wrong{ErrorCode::invalid, format("\"{}\" is no time; write 250ms, 10s, 5m, 2h or 1d", shown)};
  double number = 0;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), number);
  if (parsed.ec != std::errc() || !std::isfinite(number) || number < 0) return wrong;
  const std::string_view unit = text.substr(static_cast<std::size_t>(parsed.ptr - text.data()));
  const auto known = std::find_if(units.begin(), units.end(), [&](const auto& one) { return one.first == unit; });
  if (known == units.end()) return wrong;
  const double micros = number * known->second;
  if (micros > static_cast<double>(Duration(limits::duration_max).count()))
    return Error{ErrorCode::invalid, format("\"{}\" is more than 100 years", shown)};
  return Duration(static_cast<Duration::rep>(micros));
}

Result<Duration> parse_age(const std::string& what, const std::string& text) {
  const bool has_unit = !text.empty() && text.back() >= 'a' && text.back() <= 'z';
  const auto time = parse_duration(text);
  if (has_unit && time) return time;
  return Error{ErrorCode::invalid, format("{} {}: write a number and its unit, such as 90s, 15m, 2h or 3d", what,
                                          kept_text(text, shown_max))};
}

Result<Instant> parse_time(const std::string& what, const std::string& text, Instant now) {
  if (const auto age = parse_age(what, text)) return now - *age;
  int year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0, length = 0;
  int micros = 0;
  const auto whole = [&] {
    std::string_view rest = std::string_view(text).substr(static_cast<std::size_t>(length));
    if (rest.starts_with(".")) {
      rest.remove_prefix(1);
      for (int unit = 100'000; !rest.empty() && rest.front() >= '0' && rest.front() <= '9'; unit /= 10) {
        micros += (rest.front() - '0') * unit;
        rest.remove_prefix(1);
      }
    }
    return rest.empty() || rest == "Z";
  };
  const bool fits = [&] {
    if (std::sscanf(text.c_str(), "%4d-%2d-%2d%n", &year, &month, &day, &length) == 3) {
      if (static_cast<std::size_t>(length) == text.size()) return true;
      int more = 0;
      const char* rest = text.c_str() + length;
      if ((*rest != 'T' && *rest != ' ') || std::sscanf(rest + 1, "%2d:%2d%n", &hour, &minute, &more) != 2)
        return false;
      length += 1 + more;
      if (std::sscanf(text.c_str() + length, ":%2d%n", &second, &more) == 1) length += more;
      return whole();
    }
    if (std::sscanf(text.c_str(), "%2d:%2d%n", &hour, &minute, &length) != 2) return false;
    int more = 0;
    if (std::sscanf(text.c_str() + length, ":%2d%n", &second, &more) == 1) length += more;
    const std::time_t today = static_cast<std::time_t>(now.micros() / 1'000'000);
    std::tm parts{};
    gmtime_r(&today, &parts);
    year = parts.tm_year + 1900;
    month = parts.tm_mon + 1;
    day = parts.tm_mday;
    return whole();
  }();
  if (!fits || !in(year, 1970, 9999) || !in(month, 1, 12) || !in(day, 1, 31) || !in(hour, 0, 23) ||
      !in(minute, 0, 59) || !in(second, 0, 60))
    return Error{ErrorCode::invalid, format("{} {}: write a time in UTC such as 2026-11-17T03:00, 2026-11-17 or 03:00 "
                                            "(today), or how long ago it is, such as 90s, 15m, 2h or 3d",
                                            what, text)};
  return instant_of(year, month, day, hour, minute, second, micros);
}

}  // namespace pawl
