#include "mapping/calendar.h"

#include <cmath>
#include <limits>

namespace pawl::mapping {

namespace {

constexpr double nan = std::numeric_limits<double>::quiet_NaN();
constexpr double day_millis = 86'400'000;
constexpr double date_millis_max = 8.64e15;
constexpr double year_magnitude_max = 400'000;  // beyond it the date is always out of range

// Counted in years that begin in March, so that the leap day is the last of its year.
constexpr std::int64_t years_per_era = 400;
constexpr std::int64_t days_per_era = 146'097;
constexpr std::int64_t days_to_1970 = 719'468;  // from 0000-03-01

std::int64_t floor_divide(std::int64_t value, std::int64_t by) {
  const std::int64_t quotient = value / by;
  return quotient - (value % by != 0 && (value < 0) != (by < 0) ? 1 : 0);
}

// Days from 1970-01-01 to the first of the month; month in 0..11.
std::int64_t days_to_month(std::int64_t year, std::int64_t month) {
  const std::int64_t march_month = (month + 10) % 12;
  const std::int64_t march_year = month < 2 ? year - 1 : year;
  const std::int64_t era = floor_divide(march_year, years_per_era);
  const std::int64_t year_in_era = march_year - era * years_per_era;
  const std::int64_t day_in_year = (153 * march_month + 2) / 5;
  const std::int64_t day_in_era = year_in_era * 365 + year_in_era / 4 - year_in_era / 100 + day_in_year;
  return era * days_per_era + day_in_era - days_to_1970;
}

struct Day {
  std::int64_t year;
  std::int64_t month;
  std::int64_t day;
};

Day day_of(std::int64_t days) {
  const std::int64_t shifted = days + days_to_1970;
  const std::int64_t era = floor_divide(shifted, days_per_era);
  const std::int64_t day_in_era = shifted - era * days_per_era;
  const std::int64_t year_in_era = (day_in_era - day_in_era / 1460 + day_in_era / 36524 - day_in_era / 146096) / 365;
  const std::int64_t day_in_year = day_in_era - (365 * year_in_era + year_in_era / 4 - year_in_era / 100);
  const std::int64_t march_month = (5 * day_in_year + 2) / 153;
  const std::int64_t month = (march_month + 2) % 12;
  const std::int64_t year = year_in_era + era * years_per_era + (month < 2 ? 1 : 0);
  return {year, month, day_in_year - (153 * march_month + 2) / 5 + 1};
}

std::int64_t days_since_epoch(DateMillis date) { return static_cast<std::int64_t>(std::floor(date / day_millis)); }

}  // namespace

DateMillis date_of(Instant instant) { return clip_date(static_cast<double>(floor_divide(instant.micros(), 1'000))); }

DateMillis clip_date(double millis) {
  if (!std::isfinite(millis) || std::fabs(millis) > date_millis_max) return nan;
  return std::trunc(millis) + 0.0;  // never -0
}

DateMillis make_date(const DateFields& fields) {
  DateFields whole;
  for (std::size_t i = 0; i < date_field_count; ++i) {
    if (!std::isfinite(fields[i])) return nan;
    whole[i] = std::trunc(fields[i]);
  }
  const double months = whole[1];
  const double year = whole[0] + std::floor(months / 12);
  if (std::fabs(year) > year_magnitude_max) return nan;
  const double month = months - std::floor(months / 12) * 12;
  const auto first = days_to_month(static_cast<std::int64_t>(year), static_cast<std::int64_t>(month));
  const double days = static_cast<double>(first) + whole[2] - 1;
  const double time = whole[3] * 3'600'000 + whole[4] * 60'000 + whole[5] * 1'000 + whole[6];
  return clip_date(days * day_millis + time);
}

DateFields fields_of(DateMillis date) {
  const std::int64_t days = days_since_epoch(date);
  const Day day = day_of(days);
  const auto in_day = static_cast<std::int64_t>(date) - days * static_cast<std::int64_t>(day_millis);
  return {static_cast<double>(day.year),
          static_cast<double>(day.month),
          static_cast<double>(day.day),
          static_cast<double>(in_day / 3'600'000),
          static_cast<double>(in_day / 60'000 % 60),
          static_cast<double>(in_day / 1'000 % 60),
          static_cast<double>(in_day % 1'000)};
}

int weekday_of(DateMillis date) {
  const std::int64_t since_sunday = days_since_epoch(date) + 4;  // 1970-01-01 was a Thursday
  return static_cast<int>(since_sunday - floor_divide(since_sunday, 7) * 7);
}

}  // namespace pawl::mapping
