#include "mapping/json_parse.h"

#include "base/format.h"
#include "mapping/limits.h"
#include "mapping/number_text.h"

#include <boost/json/basic_parser_impl.hpp>
#include <boost/json/value.hpp>
#include <boost/json/value_stack.hpp>

#include <algorithm>
#include <cmath>
#include <string>

namespace pawl::mapping {

namespace json = boost::json;

namespace {

// Receives what the parser finds; the names are Boost's.
struct Handler {
  using Failure = json::error_code;

  static constexpr std::size_t max_object_size = json::object::max_size();
  static constexpr std::size_t max_array_size = json::array::max_size();
  static constexpr std::size_t max_key_size = json::string::max_size();
  static constexpr std::size_t max_string_size = json::string::max_size();

  bool on_document_begin(Failure&) { return true; }
  bool on_document_end(Failure&) { return true; }
  bool on_object_begin(Failure&) { return true; }
  bool on_object_end(std::size_t count, Failure&) {
    values.push_object(count);
    return true;
  }
  bool on_array_begin(Failure&) { return true; }
  bool on_array_end(std::size_t count, Failure&) {
    values.push_array(count);
    return true;
  }
  bool on_key_part(json::string_view part, std::size_t, Failure&) {
    values.push_chars(part);
    return true;
  }
  bool on_key(json::string_view part, std::size_t, Failure&) {
    values.push_key(part);
    return true;
  }
  bool on_string_part(json::string_view part, std::size_t, Failure&) {
    values.push_chars(part);
    return true;
  }
  bool on_string(json::string_view part, std::size_t, Failure&) {
    values.push_string(part);
    return true;
  }
  bool on_number_part(json::string_view part, Failure&) {
    number.append(part.data(), part.size());
    return true;
  }
  bool on_int64(std::int64_t value, json::string_view, Failure&) {
    number.clear();
    values.push_int64(value);
    return true;
  }
  bool on_uint64(std::uint64_t value, json::string_view, Failure&) {
    number.clear();
    values.push_uint64(value);
    return true;
  }
  bool on_double(double, json::string_view part, Failure& failure) {
    number.append(part.data(), part.size());
    const double value = parse_number(number);
    number.clear();
    if (!std::isfinite(value)) {
      failure = json::error::exponent_overflow;
      return false;
    }
    values.push_double(value);
    return true;
  }
  bool on_bool(bool value, Failure&) {
    values.push_bool(value);
    return true;
  }
  bool on_null(Failure&) {
    values.push_null();
    return true;
  }
  bool on_comment_part(json::string_view, Failure&) { return true; }
  bool on_comment(json::string_view, Failure&) { return true; }

  json::value_stack values;
  std::string number;  // the text of a number so far
};

Error refusal(std::string_view text, std::size_t at, const json::error_code& failure) {
  const std::string_view before = text.substr(0, std::min(at, text.size()));
  const auto line = std::count(before.begin(), before.end(), '\n') + 1;
  const std::size_t line_start = before.rfind('\n') + 1;  // npos + 1 is 0
  return Error{ErrorCode::invalid, format("not JSON: line {}, column {}: {}", line,
                                          before.size() - line_start + 1, failure.message())};
}

}  // namespace

Result<json::value> parse_json(std::string_view text) {
  json::parse_options options;
  options.max_depth = json_depth_max;
  json::basic_parser<Handler> parser(options);
  parser.handler().values.reset();
  json::error_code failure;
  const std::size_t read = parser.write_some(false, text.data(), text.size(), failure);
  if (!failure && read < text.size()) failure = json::error::extra_data;
  if (failure) return refusal(text, read, failure);
  return parser.handler().values.release();
}

}  // namespace pawl::mapping
