// Dates as JavaScript has them: milliseconds since 1970 in a double, the proleptic Gregorian
// calendar, at most 100,000,000 days from 1970 in either direction. The only time zone is UTC.
#pragma once

#include "pawl/time.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace pawl::mapping {

// NaN is a date that does not exist.
using DateMillis = double;

enum class DateField : std::uint8_t { year, month, day, hour, minute, second, millisecond };
inline constexpr std::size_t date_field_count = 7;

// Month 0 is January, day 1 is the first. Doubles, because callers may pass any number: make_date carries.
using DateFields = std::array<double, date_field_count>;

DateMillis date_of(Instant instant);  // whole milliseconds, rounded down
DateMillis clip_date(double millis);
DateMillis make_date(const DateFields& fields);
// REQUIRES: the date is finite (also for the texts below).
DateFields fields_of(DateMillis date);
int weekday_of(DateMillis date);  // 0 is Sunday

// "2024-02-29T13:05:09.007Z" and its shorter forms, and the two long forms that toString and
// toUTCString write. Without an offset it is UTC.
std::optional<DateMillis> parse_date(std::string_view text);

std::string iso_text(DateMillis date);      // 2024-02-29T13:05:09.007Z
std::string iso_day_text(DateMillis date);  // 2024-02-29
std::string compact_text(DateMillis date);  // 20240229130509.007
std::string day_text(DateMillis date);      // Thu Feb 29 2024
std::string long_text(DateMillis date);     // Thu Feb 29 2024 13:05:09 GMT+0000 (Coordinated Universal Time)
std::string us_day_text(DateMillis date);   // 2/29/2024
std::string us_time_text(DateMillis date);  // 1:05:09 PM

}  // namespace pawl::mapping
