// date: JavaScript's Date in UTC. A date is passed on as ISO text, milliseconds or digits; the
// functions that JavaScript has in a local and a UTC form do the same in both.
#include "mapping/calendar.h"
#include "mapping/convert.h"
#include "mapping/functions/operands.h"
#include "mapping/number_text.h"

#include "base/format.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

namespace pawl::mapping {

namespace json = boost::json;

namespace {

constexpr double nan = std::numeric_limits<double>::quiet_NaN();

std::optional<DateMillis> read_date(const Operand& operand) {
  const json::value& value = operand.value();
  if (is_number(value)) return clip_date(number_of(value));
  const json::string* text = value.if_string();
  if (text == nullptr || text->empty()) return std::nullopt;
  // Four digits are a year, as in JavaScript; any other sequence of digits is milliseconds.
  const bool digits = std::all_of(text->begin(), text->end(), [](char c) { return c >= '0' && c <= '9'; });
  if (digits && text->size() != 4) return clip_date(parse_number(*text));
  return parse_date(*text);
}

using DateBody = Result<Operand> (*)(Call&, Operands, DateMillis);

// Null in, null out; what is not a date at all is refused. A number out of range is an invalid
// date: NaN.
template <DateBody body>
Result<Operand> on_date(Call& call, Operands operands) {
  if (operands[0].nullish()) return Operand::null();
  const auto date = read_date(operands[0]);
  if (!date) return wants("a date (ISO 8601 text or milliseconds)", operands, 0);
  if (std::isnan(*date)) return Operand::number(nan);
  return body(call, operands, *date);
}

template <DateField field>
Result<Operand> get_field(Call&, Operands, DateMillis date) {
  return Operand::number(fields_of(date)[static_cast<std::size_t>(field)]);
}

// Sets the field and, with further operands, the fields after it.
template <DateField field>
Result<Operand> set_field(Call& call, Operands operands, DateMillis date) {
  DateFields fields = fields_of(date);
  for (std::size_t i = 1; i < operands.size(); ++i)
    fields[static_cast<std::size_t>(field) + i - 1] = number_at(call, operands, i);
  return Operand::number(make_date(fields));
}

using DateText = std::string (*)(DateMillis);

template <DateText text>
Result<Operand> as_text(Call& call, Operands, DateMillis date) {
  return text_result(call, text(date));
}

std::string us_text(DateMillis date) { return format("{}, {}", us_day_text(date), us_time_text(date)); }

Result<Operand> weekday(Call&, Operands, DateMillis date) { return Operand::number(weekday_of(date)); }
Result<Operand> millis(Call&, Operands, DateMillis date) { return Operand::number(date); }
Result<Operand> zone_offset(Call&, Operands, DateMillis) { return Operand::number(0); }
Result<Operand> set_time(Call& call, Operands operands, DateMillis) {
  return Operand::number(clip_date(number_at(call, operands, 1)));
}

Result<Operand> now(Call& call, Operands) { return Operand::number(date_of(call.data.now)); }

// With no operand, or a missing one, the current time.
template <DateText text>
Result<Operand> as_text_or_now(Call& call, Operands operands) {
  if (!operand_at(operands, 0).missing()) return on_date<as_text<text>>(call, operands);
  return text_result(call, text(date_of(call.data.now)));
}

Result<Operand> utc(Call& call, Operands operands) {
  DateFields fields = {nan, 0, 1, 0, 0, 0, 0};
  for (std::size_t i = 0; i < operands.size(); ++i) fields[i] = number_at(call, operands, i);
  const double year = std::trunc(fields[0]);
  if (year >= 0 && year <= 99) fields[0] = 1900 + year;
  return Operand::number(make_date(fields));
}

constexpr Function table[] = {
    {"date.fromISOString", 1, 1, Work::scans, on_date<as_text<iso_text>>},
    {"date.now", 0, 0, Work::constant, now},
    {"date.yyyymmdd", 0, 1, Work::scans, as_text_or_now<iso_day_text>},
    {"date.parse", 1, 1, Work::scans, on_date<millis>},
    {"date.getDate", 1, 1, Work::scans, on_date<get_field<DateField::day>>},
    {"date.getDay", 1, 1, Work::scans, on_date<weekday>},
    {"date.getFullYear", 1, 1, Work::scans, on_date<get_field<DateField::year>>},
    {"date.getHours", 1, 1, Work::scans, on_date<get_field<DateField::hour>>},
    {"date.getMilliseconds", 1, 1, Work::scans, on_date<get_field<DateField::millisecond>>},
    {"date.getMinutes", 1, 1, Work::scans, on_date<get_field<DateField::minute>>},
    {"date.getMonth", 1, 1, Work::scans, on_date<get_field<DateField::month>>},
    {"date.getSeconds", 1, 1, Work::scans, on_date<get_field<DateField::second>>},
    {"date.getTime", 1, 1, Work::scans, on_date<millis>},
    {"date.getTimezoneOffset", 1, 1, Work::scans, on_date<zone_offset>},
    {"date.getUTCDate", 1, 1, Work::scans, on_date<get_field<DateField::day>>},
    {"date.getUTCDay", 1, 1, Work::scans, on_date<weekday>},
    {"date.getUTCFullYear", 1, 1, Work::scans, on_date<get_field<DateField::year>>},
    {"date.getUTCHours", 1, 1, Work::scans, on_date<get_field<DateField::hour>>},
    {"date.getUTCMilliseconds", 1, 1, Work::scans, on_date<get_field<DateField::millisecond>>},
    {"date.getUTCMinutes", 1, 1, Work::scans, on_date<get_field<DateField::minute>>},
    {"date.getUTCMonth", 1, 1, Work::scans, on_date<get_field<DateField::month>>},
    {"date.getUTCSeconds", 1, 1, Work::scans, on_date<get_field<DateField::second>>},
    {"date.setDate", 2, 2, Work::scans, on_date<set_field<DateField::day>>},
    {"date.setFullYear", 2, 4, Work::scans, on_date<set_field<DateField::year>>},
    {"date.setHours", 2, 5, Work::scans, on_date<set_field<DateField::hour>>},
    {"date.setMilliseconds", 2, 2, Work::scans, on_date<set_field<DateField::millisecond>>},
    {"date.setMinutes", 2, 4, Work::scans, on_date<set_field<DateField::minute>>},
    {"date.setMonth", 2, 3, Work::scans, on_date<set_field<DateField::month>>},
    {"date.setSeconds", 2, 3, Work::scans, on_date<set_field<DateField::second>>},
    {"date.setTime", 2, 2, Work::scans, on_date<set_time>},
    {"date.setUTCDate", 2, 2, Work::scans, on_date<set_field<DateField::day>>},
    {"date.setUTCFullYear", 2, 4, Work::scans, on_date<set_field<DateField::year>>},
    {"date.setUTCHours", 2, 5, Work::scans, on_date<set_field<DateField::hour>>},
    {"date.setUTCMilliseconds", 2, 2, Work::scans, on_date<set_field<DateField::millisecond>>},
    {"date.setUTCMinutes", 2, 4, Work::scans, on_date<set_field<DateField::minute>>},
    {"date.setUTCMonth", 2, 3, Work::scans, on_date<set_field<DateField::month>>},
    {"date.setUTCSeconds", 2, 3, Work::scans, on_date<set_field<DateField::second>>},
    {"date.toDateString", 1, 1, Work::scans, on_date<as_text<day_text>>},
    {"date.toISOString", 1, 1, Work::scans, on_date<as_text<iso_text>>},
    {"date.toISOXString", 0, 1, Work::scans, as_text_or_now<compact_text>},
    {"date.toJSON", 1, 1, Work::scans, on_date<as_text<iso_text>>},
    {"date.toLocaleDateString", 1, 3, Work::scans, on_date<as_text<us_day_text>>},
    {"date.toLocaleString", 1, 3, Work::scans, on_date<as_text<us_text>>},
    {"date.toLocaleTimeString", 1, 3, Work::scans, on_date<as_text<us_time_text>>},
    {"date.toString", 1, 1, Work::scans, on_date<as_text<long_text>>},
    {"date.UTC", 1, 7, Work::scans, utc},
    {"date.valueOf", 1, 1, Work::scans, on_date<millis>},
};

}  // namespace

std::span<const Function> date_functions() { return table; }

}  // namespace pawl::mapping
