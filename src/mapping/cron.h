// Cron expressions: five fields (minute hour day-of-month month day-of-week) or six with seconds in front, in UTC.
// Lists, ranges, steps and names ("MON-FRI", "*/15", "JAN,JUL"), and @hourly, @daily, @weekly, @monthly, @yearly. When
// both day fields are restricted, a day that matches either one fires.
#pragma once

#include "mapping/calendar.h"
#include "pawl/result.h"

#include <cstdint>
#include <optional>
#include <string_view>

namespace pawl::mapping {

class CronSchedule {
 public:
  static Result<CronSchedule> parse(std::string_view text);

  // The first tick after `date`, or nothing within the next 28 years (the 29th of February on a given weekday comes
  // back at least that often, except around a skipped leap year).
  std::optional<DateMillis> next_after(DateMillis date) const;

 private:
  bool day_matches(DateMillis midnight) const;

  // Bit n is set when n matches.
  std::uint64_t seconds_ = 0;
  std::uint64_t minutes_ = 0;
  std::uint64_t hours_ = 0;
  std::uint64_t days_ = 0;
  std::uint64_t months_ = 0;    // 1 is January
  std::uint64_t weekdays_ = 0;  // 0 is Sunday
  bool any_day_ = false;
  bool any_weekday_ = false;
};

}  // namespace pawl::mapping
