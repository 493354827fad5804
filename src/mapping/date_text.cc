// Dates to text, and text to dates.
#include "base/format.h"
#include "mapping/calendar.h"

#include <cmath>

namespace pawl::mapping {

namespace {

constexpr std::array<std::string_view, 7> weekdays = {"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
constexpr std::array<std::string_view, 12> months = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                                     "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};

// The fields as integers, for printing.
struct Printed {
  explicit Printed(DateMillis date) : weekday(weekdays[static_cast<std::size_t>(weekday_of(date))]) {
    const DateFields fields = fields_of(date);
    const auto at = [&fields](DateField field) { return static_cast<int>(fields[static_cast<std::size_t>(field)]); };
    year = at(DateField::year);
    month = at(DateField::month);
    day = at(DateField::day);
    hour = at(DateField::hour);
    minute = at(DateField::minute);
    second = at(DateField::second);
    millisecond = at(DateField::millisecond);
  }
  std::string_view weekday;
  int year, month, day, hour, minute, second, millisecond;
};

std::string iso_year(int year) {
  if (year >= 0 && year <= 9999) return format("{:04}", year);
  return format("{}{:06}", year < 0 ? '-' : '+', std::abs(year));
}

// toString pads to four digits and writes the sign of years before 0 in front.
std::string long_year(int year) { return format("{}{:04}", year < 0 ? "-" : "", std::abs(year)); }

// Reads a text from the left; every step returns whether it matched.
class Reader {
 public:
  explicit Reader(std::string_view text) : rest_(text) {}

  bool done() const { return rest_.empty(); }
  bool take(char c) {
    if (rest_.empty() || rest_.front() != c) return false;
    rest_.remove_prefix(1);
    return true;
  }
  bool take(std::string_view word) {
    if (!rest_.starts_with(word)) return false;
    rest_.remove_prefix(word.size());
    return true;
  }
  // Between `least` and `most` digits.
  bool number(std::size_t least, std::size_t most, double& value) {
    std::size_t count = 0;
    double read = 0;
    while (count < rest_.size() && count < most && rest_[count] >= '0' && rest_[count] <= '9')
      read = read * 10 + (rest_[count++] - '0');
    if (count < least) return false;
    rest_.remove_prefix(count);
    value = read;
    return true;
  }
  bool fraction(double& millis) {
    double scale = 100;
    double read = 0;
    std::size_t count = 0;
    for (; count < rest_.size() && rest_[count] >= '0' && rest_[count] <= '9'; ++count) {
      if (count < 3) read += scale * (rest_[count] - '0');
      scale /= 10;
    }
    rest_.remove_prefix(count);
    millis = read;
    return count > 0;
  }
  // The index of the name at this position, or -1.
  template <std::size_t N>
  int name(const std::array<std::string_view, N>& names) {
    for (std::size_t i = 0; i < N; ++i)
      if (take(names[i])) return static_cast<int>(i);
    return -1;
  }
  void rest_is_comment() {
    if (rest_.starts_with(" (") && rest_.ends_with(")")) rest_ = {};
  }

 private:
  std::string_view rest_;
};

double& at(DateFields& fields, DateField field) { return fields[static_cast<std::size_t>(field)]; }

bool in_range(const DateFields& f) {
  const bool midnight_after = f[3] == 24 && f[4] == 0 && f[5] == 0 && f[6] == 0;
  const bool date_fits = f[1] >= 0 && f[1] <= 11 && f[2] >= 1 && f[2] <= 31;
  return date_fits && (f[3] <= 23 || midnight_after) && f[4] <= 59 && f[5] <= 59;
}

// "+01:00", "-0530": minutes east of UTC.
bool read_offset(Reader& reader, double& minutes) {
  const bool negative = reader.take('-');
  if (!negative && !reader.take('+')) return false;
  double hour = 0;
  double minute = 0;
  if (!reader.number(2, 2, hour)) return false;
  reader.take(':');
  if (!reader.number(2, 2, minute) || hour > 23 || minute > 59) return false;
  minutes = (hour * 60 + minute) * (negative ? -1 : 1);
  return true;
}

std::optional<DateMillis> finish(const DateFields& fields, double offset_minutes) {
  if (!in_range(fields)) return std::nullopt;
  const DateMillis date = make_date(fields);
  const DateMillis shifted = clip_date(date - offset_minutes * 60'000);
  if (std::isnan(shifted)) return std::nullopt;
  return shifted;
}

bool read_clock(Reader& reader, DateFields& fields) {
  if (!reader.number(2, 2, at(fields, DateField::hour)) || !reader.take(':')) return false;
  if (!reader.number(2, 2, at(fields, DateField::minute))) return false;
  if (!reader.take(':')) return true;
  if (!reader.number(2, 2, at(fields, DateField::second))) return false;
  return !reader.take('.') || reader.fraction(at(fields, DateField::millisecond));
}

bool read_iso_year(Reader& reader, double& year) {
  const bool negative = reader.take('-');
  if (!negative && !reader.take('+')) return reader.number(4, 4, year);
  if (!reader.number(6, 6, year) || (negative && year == 0)) return false;
  if (negative) year = -year;
  return true;
}

std::optional<DateMillis> parse_iso(std::string_view text) {
  Reader reader(text);
  DateFields fields = {0, 0, 1, 0, 0, 0, 0};
  if (!read_iso_year(reader, at(fields, DateField::year))) return std::nullopt;
  if (reader.take('-')) {
    if (!reader.number(2, 2, at(fields, DateField::month))) return std::nullopt;
    at(fields, DateField::month) -= 1;
    if (reader.take('-') && !reader.number(2, 2, at(fields, DateField::day))) return std::nullopt;
  }
  double offset = 0;
  if (reader.take('T') || reader.take('t') || reader.take(' ')) {
    if (!read_clock(reader, fields)) return std::nullopt;
    if (!reader.done() && !reader.take('Z') && !reader.take('z') && !read_offset(reader, offset)) return std::nullopt;
  }
  if (!reader.done()) return std::nullopt;
  return finish(fields, offset);
}

// "Thu Feb 29 2024[ 13:05:09[ GMT[+0000]][ (any zone name)]]" and "Thu, 29 Feb 2024 13:05:09 GMT".
std::optional<DateMillis> parse_long(std::string_view text) {
  Reader reader(text);
  DateFields fields = {0, 0, 1, 0, 0, 0, 0};
  if (reader.name(weekdays) >= 0) {
    reader.take(',');
    if (!reader.take(' ')) return std::nullopt;
  }
  int month = reader.name(months);
  const bool month_first = month >= 0;
  if (month_first && !reader.take(' ')) return std::nullopt;
  if (!reader.number(1, 2, at(fields, DateField::day))) return std::nullopt;
  reader.take(',');
  if (!reader.take(' ')) return std::nullopt;
  if (!month_first) {
    month = reader.name(months);
    if (month < 0 || !reader.take(' ')) return std::nullopt;
  }
  at(fields, DateField::month) = month;
  if (!reader.number(4, 6, at(fields, DateField::year))) return std::nullopt;
  double offset = 0;
  if (reader.take(' ')) {
    if (!read_clock(reader, fields)) return std::nullopt;
    if (reader.take(" GMT") || reader.take(" UTC") || reader.take(" Z")) {
      if (!reader.done()) (void)read_offset(reader, offset);
    }
    reader.rest_is_comment();
  }
  if (!reader.done()) return std::nullopt;
  return finish(fields, offset);
}

}  // namespace

std::optional<DateMillis> parse_date(std::string_view text) {
  const auto iso = parse_iso(text);
  return iso ? iso : parse_long(text);
}

std::string iso_text(DateMillis date) {
  const Printed p(date);
  return format("{}-{:02}-{:02}T{:02}:{:02}:{:02}.{:03}Z", iso_year(p.year), p.month + 1, p.day, p.hour, p.minute,
                p.second, p.millisecond);
}

std::string iso_day_text(DateMillis date) {
  const Printed p(date);
  return format("{}-{:02}-{:02}", iso_year(p.year), p.month + 1, p.day);
}

std::string compact_text(DateMillis date) {
  const Printed p(date);
  return format("{}{:02}{:02}{:02}{:02}{:02}.{:03}", iso_year(p.year), p.month + 1, p.day, p.hour, p.minute, p.second,
                p.millisecond);
}

std::string day_text(DateMillis date) {
  const Printed p(date);
  return format("{} {} {:02} {}", p.weekday, months[static_cast<std::size_t>(p.month)], p.day, long_year(p.year));
}

std::string long_text(DateMillis date) {
  const Printed p(date);
  return format("{} {:02}:{:02}:{:02} GMT+0000 (Coordinated Universal Time)", day_text(date), p.hour, p.minute,
                p.second);
}

std::string us_day_text(DateMillis date) {
  const Printed p(date);
  const int year = p.year > 0 ? p.year : 1 - p.year;  // before the year 1: counted backwards
  return format("{}/{}/{}", p.month + 1, p.day, year);
}

std::string us_time_text(DateMillis date) {
  const Printed p(date);
  const int hour = p.hour % 12 == 0 ? 12 : p.hour % 12;
  return format("{}:{:02}:{:02} {}", hour, p.minute, p.second, p.hour < 12 ? "AM" : "PM");
}

}  // namespace pawl::mapping
