#include "mapping/cron.h"

#include "base/format.h"
#include "mapping/limits.h"

#include <array>
#include <bit>
#include <cmath>
#include <span>
#include <vector>

namespace pawl::mapping {

namespace {

constexpr double day_millis = 86'400'000;
constexpr int search_days_max = 28 * 366 + 8 * 366;  // 28 years, and the eight around 1900 or 2100

constexpr std::array<std::string_view, 7> weekday_names = {"SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"};
constexpr std::array<std::string_view, 12> month_names = {"JAN", "FEB", "MAR", "APR", "MAY", "JUN",
                                                          "JUL", "AUG", "SEP", "OCT", "NOV", "DEC"};

struct FieldRule {
  std::string_view name;
  int least;
  int most;
  std::span<const std::string_view> names;  // names[0] means `least`
};

constexpr FieldRule second_rule = {"second", 0, 59, {}};
constexpr FieldRule minute_rule = {"minute", 0, 59, {}};
constexpr FieldRule hour_rule = {"hour", 0, 23, {}};
constexpr FieldRule day_rule = {"day of month", 1, 31, {}};
constexpr FieldRule month_rule = {"month", 1, 12, month_names};
constexpr FieldRule weekday_rule = {"day of week", 0, 7, weekday_names};

bool same_letters(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i)
    if ((a[i] & ~0x20) != (b[i] & ~0x20)) return false;
  return true;
}

std::optional<int> read_value(std::string_view text, const FieldRule& rule) {
  for (std::size_t i = 0; i < rule.names.size(); ++i)
    if (same_letters(text, rule.names[i])) return rule.least + static_cast<int>(i);
  if (text.empty() || text.size() > 3) return std::nullopt;
  int value = 0;
  for (const char c : text) {
    if (c < '0' || c > '9') return std::nullopt;
    value = value * 10 + (c - '0');
  }
  return value;
}

Error refuse(std::string_view item, const FieldRule& rule) {
  return Error{ErrorCode::invalid,
               format("not a cron expression: \"{}\" is no {} ({} to {})", item, rule.name, rule.least, rule.most)};
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (true) {
    const std::size_t end = text.find(separator);
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

// "*", "5", "1-5", "*/15", "10-40/5", "7/10" (from 7 on).
Result<std::uint64_t> read_item(std::string_view item, const FieldRule& rule) {
  const std::size_t slash = item.find('/');
  const std::string_view range = item.substr(0, slash);
  int step = 1;
  if (slash != std::string_view::npos) {
    const auto given = read_value(item.substr(slash + 1), second_rule);
    if (!given || *given < 1) return refuse(item, rule);
    step = *given;
  }
  int first = rule.least;
  int last = rule.most;
  if (range != "*" && range != "?") {
    const std::size_t dash = range.find('-');
    const auto begin = read_value(range.substr(0, dash), rule);
    const auto end = dash == std::string_view::npos ? begin : read_value(range.substr(dash + 1), rule);
    if (!begin || !end) return refuse(item, rule);
    first = *begin;
    const bool open_ended = dash == std::string_view::npos && slash != std::string_view::npos;
    last = open_ended ? rule.most : *end;
  }
  if (first < rule.least || last > rule.most || first > last) return refuse(item, rule);
  std::uint64_t bits = 0;
  for (int value = first; value <= last; value += step) bits |= 1ULL << static_cast<unsigned>(value);
  return bits;
}

Result<std::uint64_t> read_field(std::string_view text, const FieldRule& rule) {
  std::uint64_t bits = 0;
  for (const std::string_view item : split(text, ',')) {
    const auto more = read_item(item, rule);
    if (!more) return more.error();
    bits |= *more;
  }
  return bits;
}

std::vector<std::string_view> words_of(std::string_view text) {
  std::vector<std::string_view> words;
  std::size_t at = 0;
  while (at < text.size()) {
    const std::size_t begin = text.find_first_not_of(" \t", at);
    if (begin == std::string_view::npos) break;
    const std::size_t end = std::min(text.find_first_of(" \t", begin), text.size());
    words.push_back(text.substr(begin, end - begin));
    at = end;
  }
  return words;
}

std::string_view spelled_out(std::string_view text) {
  if (text == "@yearly" || text == "@annually") return "0 0 1 1 *";
  if (text == "@monthly") return "0 0 1 * *";
  if (text == "@weekly") return "0 0 * * 0";
  if (text == "@daily" || text == "@midnight") return "0 0 * * *";
  if (text == "@hourly") return "0 * * * *";
  return text;
}

bool has(std::uint64_t bits, double value) { return (bits >> static_cast<unsigned>(value) & 1U) != 0; }

// The smallest set bit at or above `from`, or -1.
int next_bit(std::uint64_t bits, int from) {
  if (from > 63) return -1;
  const std::uint64_t above = bits >> static_cast<unsigned>(from);
  return above == 0 ? -1 : from + std::countr_zero(above);
}

}  // namespace

Result<CronSchedule> CronSchedule::parse(std::string_view text) {
  if (text.size() > cron_bytes_max)
    return Error{ErrorCode::over_limit, format("a cron expression has at most {} bytes", cron_bytes_max)};
  std::vector<std::string_view> words = words_of(text);
  if (words.size() == 1) words = words_of(spelled_out(words[0]));
  if (words.size() == 5) words.insert(words.begin(), "0");
  if (words.size() != 6)
    return Error{ErrorCode::invalid, "not a cron expression: it wants 5 fields, or 6 with seconds"};

  CronSchedule schedule;
  struct Target {
    std::uint64_t* bits;
    const FieldRule* rule;
  };
  const Target targets[] = {{&schedule.seconds_, &second_rule}, {&schedule.minutes_, &minute_rule},
                            {&schedule.hours_, &hour_rule},     {&schedule.days_, &day_rule},
                            {&schedule.months_, &month_rule},   {&schedule.weekdays_, &weekday_rule}};
  for (std::size_t i = 0; i < words.size(); ++i) {
    const auto bits = read_field(words[i], *targets[i].rule);
    if (!bits) return bits.error();
    *targets[i].bits = *bits;
  }
  if (has(schedule.weekdays_, 7)) schedule.weekdays_ |= 1;  // 7 is Sunday too
  schedule.any_day_ = words[3] == "*" || words[3] == "?";
  schedule.any_weekday_ = words[5] == "*" || words[5] == "?";
  return schedule;
}

bool CronSchedule::day_matches(DateMillis midnight) const {
  const DateFields fields = fields_of(midnight);
  if (!has(months_, fields[1] + 1)) return false;
  const bool day = has(days_, fields[2]);
  const bool weekday = has(weekdays_, weekday_of(midnight));
  if (any_day_ || any_weekday_) return day && weekday;
  return day || weekday;
}

std::optional<DateMillis> CronSchedule::next_after(DateMillis date) const {
  const DateMillis start = (std::floor(date / 1000) + 1) * 1000;  // the next whole second
  DateMillis midnight = std::floor(start / day_millis) * day_millis;
  auto second_of_day = static_cast<int>((start - midnight) / 1000);
  for (int days = 0; days < search_days_max; ++days, midnight += day_millis, second_of_day = 0) {
    if (std::isnan(clip_date(midnight))) return std::nullopt;
    if (!day_matches(midnight)) continue;
    int hour = second_of_day / 3600;
    int minute = second_of_day / 60 % 60;
    int second = second_of_day % 60;
    while ((hour = next_bit(hours_, hour)) >= 0) {
      if (hour != second_of_day / 3600) minute = second = 0;
      while ((minute = next_bit(minutes_, minute)) >= 0) {
        if (hour * 60 + minute != second_of_day / 60) second = 0;
        second = next_bit(seconds_, second);
        if (second >= 0) return midnight + (hour * 3600 + minute * 60 + second) * 1000.0;
        ++minute;
      }
      ++hour;
      minute = second = 0;
    }
  }
  return std::nullopt;
}

}  // namespace pawl::mapping
