#include "mapping/json_parse.h"

#include "base/format.h"
#include "mapping/limits.h"
#include "mapping/number_text.h"

#include <boost/json/basic_parser_impl.hpp>
#include <boost/json/value.hpp>
#include <boost/json/value_stack.hpp>

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>

namespace pawl::mapping {

namespace json = boost::json;

namespace {

// A number's text as it comes, read exactly when it is complete.
class NumberText {
 public:
  void add(json::string_view part) { text_.append(part.data(), part.size()); }
  void clear() { text_.clear(); }
  // None: too large for a double.
  std::optional<double> take(json::string_view last) {
    add(last);
    const double value = parse_number(text_);
    clear();
    return std::isfinite(value) ? std::optional(value) : std::nullopt;
  }

 private:
  std::string text_;
};

// Receives the parser's events; the names are Boost's.
struct HandlerLimits {
  using Failure = json::error_code;
  static constexpr std::size_t max_object_size = json::object::max_size();
  static constexpr std::size_t max_array_size = json::array::max_size();
  static constexpr std::size_t max_key_size = json::string::max_size();
  static constexpr std::size_t max_string_size = json::string::max_size();
};

struct Handler : HandlerLimits {
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
    number.add(part);
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
    const auto value = number.take(part);
    if (!value) {
      failure = json::error::exponent_overflow;
      return false;
    }
    values.push_double(*value);
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
  NumberText number;
};

// Keeps nothing.
struct Checker : HandlerLimits {
  bool on_document_begin(Failure&) { return true; }
  bool on_document_end(Failure&) { return true; }
  bool on_object_begin(Failure&) { return true; }
  bool on_object_end(std::size_t, Failure&) { return true; }
  bool on_array_begin(Failure&) { return true; }
  bool on_array_end(std::size_t, Failure&) { return true; }
  bool on_key_part(json::string_view, std::size_t, Failure&) { return true; }
  bool on_key(json::string_view, std::size_t, Failure&) { return true; }
  bool on_string_part(json::string_view, std::size_t, Failure&) { return true; }
  bool on_string(json::string_view, std::size_t, Failure&) { return true; }
  bool on_number_part(json::string_view part, Failure&) {
    number.add(part);
    return true;
  }
  bool on_int64(std::int64_t, json::string_view, Failure&) {
    number.clear();
    return true;
  }
  bool on_uint64(std::uint64_t, json::string_view, Failure&) {
    number.clear();
    return true;
  }
  bool on_double(double, json::string_view part, Failure& failure) {
    if (number.take(part)) return true;
    failure = json::error::exponent_overflow;
    return false;
  }
  bool on_bool(bool, Failure&) { return true; }
  bool on_null(Failure&) { return true; }
  bool on_comment_part(json::string_view, Failure&) { return true; }
  bool on_comment(json::string_view, Failure&) { return true; }

  NumberText number;
};

json::parse_options our_options() {
  json::parse_options options;
  options.max_depth = json_depth_max;
  return options;
}

bool is_too_deep(const json::error_code& failure) { return failure == json::error::too_deep; }
Error too_deep() {
  return {ErrorCode::over_limit, format("JSON that nests more than {} levels deep (json_depth_max)", json_depth_max)};
}

Error refusal(std::string_view text, std::size_t at, const json::error_code& failure) {
  const std::string_view before = text.substr(0, std::min(at, text.size()));
  const auto line = std::count(before.begin(), before.end(), '\n') + 1;
  const std::size_t line_start = before.rfind('\n') + 1;  // npos + 1 is 0
  const std::size_t column = before.size() - line_start + 1;
  if (is_too_deep(failure))
    return Error{too_deep().code, format("{}: line {}, column {}", too_deep().detail, line, column)};
  return Error{ErrorCode::invalid, format("not JSON: line {}, column {}: {}", line, column, failure.message())};
}

}  // namespace

Result<json::value> parse_json(std::string_view text) { return parse_json(text, {}); }

Result<json::value> parse_json(std::string_view text, json::storage_ptr storage) {
  json::basic_parser<Handler> parser(our_options());
  parser.handler().values.reset(std::move(storage));
  json::error_code failure;
  const std::size_t read = parser.write_some(false, text.data(), text.size(), failure);
  if (!failure && read < text.size()) failure = json::error::extra_data;
  if (failure) return refusal(text, read, failure);
  return parser.handler().values.release();
}

struct JsonCheck::Parser {
  json::basic_parser<Checker> basic{our_options()};
};

JsonCheck::JsonCheck() : parser_(std::make_unique<Parser>()) {}
JsonCheck::~JsonCheck() = default;

Result<std::size_t> JsonCheck::take(std::string_view part) {
  json::error_code failure;
  const std::size_t read = parser_->basic.write_some(true, part.data(), part.size(), failure);
  if (is_too_deep(failure)) return too_deep();
  if (failure) return Error{ErrorCode::invalid, "not JSON: " + failure.message()};
  return read;
}

bool JsonCheck::done() const { return parser_->basic.done(); }

void JsonCheck::reset() {
  parser_->basic.reset();
  parser_->basic.handler().number.clear();
}

}  // namespace pawl::mapping
