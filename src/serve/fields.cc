#include "serve/fields.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "base/format.h"
#include "base/limits.h"
#include "base/utf8.h"
#include "mapping/json_parse.h"
#include "mapping/json_text.h"
#include "serve/parse_time.h"
#include "serve/problem.h"

namespace pawl::serve {

namespace {

namespace json = boost::json;

constexpr std::size_t shown_max = 60;

Error invalid(std::string why) { return {ErrorCode::invalid, std::move(why)}; }

Result<std::int64_t> parse_number(std::string_view text) {
  std::int64_t number = 0;
  const auto end = text.data() + text.size();
  const auto parsed = std::from_chars(text.data(), end, number);
  if (text.empty() || parsed.ec != std::errc() || parsed.ptr != end)
    return invalid(format("\"{}\" is no whole number", kept_text(text, shown_max)));
  return number;
}

std::string range(std::int64_t least, std::int64_t most) { return format("it is between {} and {}", least, most); }

}  // namespace

Fields::Fields(std::string_view body, json::storage_ptr storage) : own_(storage) {
  if (body.empty()) return;
  auto value = mapping::parse_json(body, std::move(storage));
  if (!value)
    mistake_ = Mistake{"", invalid("the body is " + value.error().detail)};
  else if (!value->is_object())
    mistake_ = Mistake{"", invalid("the body must be a JSON object")};
  else
    own_ = std::move(value->get_object());
}

bool Fields::has(std::string_view name) const {
  const json::value* value = object_->if_contains(name);
  return value != nullptr && !value->is_null();
}

const json::value* Fields::note_read(std::string_view name) {
  const json::value* value = object_->if_contains(name);
  if (value != nullptr) read_.push_back(value);
  return value;
}

const json::value* Fields::find(std::string_view name) {
  const json::value* value = note_read(name);
  return value == nullptr || value->is_null() ? nullptr : value;
}

void Fields::wrong(std::string_view name, std::string why) {
  if (!mistake_) mistake_ = Mistake{std::string(name), invalid(format("{}: {}", name, why))};
}

std::string Fields::text(std::string_view name, std::string_view otherwise) {
  const json::value* value = find(name);
  if (value == nullptr) return std::string(otherwise);
  if (value->is_string()) return std::string(value->get_string());
  wrong(name, "it must be a text");
  return std::string(otherwise);
}

std::string Fields::needed(std::string_view name) {
  std::string value = text(name);
  if (value.empty()) wrong(name, "it is missing");
  return value;
}

std::int64_t Fields::number(std::string_view name, std::int64_t least, std::int64_t most, std::int64_t otherwise) {
  const json::value* value = find(name);
  if (value == nullptr) return otherwise;
  if (!value->is_int64()) {
    wrong(name, "it must be a whole number, " + range(least, most));
  } else if (value->get_int64() < least || value->get_int64() > most) {
    wrong(name, range(least, most));
  } else {
    return value->get_int64();
  }
  return otherwise;
}

bool Fields::truth(std::string_view name, bool otherwise) {
  const json::value* value = find(name);
  if (value == nullptr) return otherwise;
  if (value->is_bool()) return value->get_bool();
  wrong(name, "it must be true or false");
  return otherwise;
}

std::optional<Duration> Fields::time(std::string_view name) {
  const json::value* value = find(name);
  if (value == nullptr) return std::nullopt;
  Result<Duration> time = invalid("it must be a time such as 10s, or a number of seconds");
  if (value->is_string())
    time = parse_duration(value->get_string());
  else if (value->is_number())
    time = parse_duration(mapping::json_text(*value));
  if (time) return *time;
  wrong(name, time.error().detail);
  return std::nullopt;
}

Payload Fields::payload(std::string_view name) {
  const json::value* value = note_read(name);
  return value == nullptr ? Payload() : Payload(mapping::json_text(*value));
}

std::vector<std::string> Fields::texts(std::string_view name, std::size_t count_max) {
  std::vector<std::string> texts;
  const json::value* value = find(name);
  if (value == nullptr) return texts;
  if (!value->is_array()) return wrong(name, "it must be a list of texts"), texts;
  if (value->get_array().size() > count_max)
    return wrong(name, format("it has more than {} entries", count_max)), texts;
  for (const json::value& one : value->get_array()) {
    if (!one.is_string()) return wrong(name, "it must be a list of texts"), texts;
    texts.emplace_back(one.get_string());
  }
  return texts;
}

const json::object* Fields::object(std::string_view name) {
  const json::value* value = find(name);
  if (value == nullptr) return nullptr;
  if (value->is_object()) return &value->get_object();
  wrong(name, "it must be an object");
  return nullptr;
}

const json::array* Fields::list(std::string_view name, std::size_t count_max) {
  const json::value* value = find(name);
  if (value == nullptr) return nullptr;
  if (!value->is_array()) return wrong(name, "it must be a list"), nullptr;
  if (value->get_array().size() > count_max)
    return wrong(name, format("it has more than {} entries", count_max)), nullptr;
  return &value->get_array();
}

std::string Fields::one_of(std::string_view name, std::initializer_list<std::string_view> words,
                           std::string_view otherwise) {
  std::string value = text(name, otherwise);
  std::string all;
  for (const std::string_view word : words) {
    if (word == value) return value;
    all += (all.empty() ? "" : ", ") + std::string(word);
  }
  wrong(name, "it is one of " + all);
  return std::string(otherwise);
}

const std::optional<Mistake>& Fields::mistake() {
  if (!mistake_)
    for (const auto& one : *object_)
      if (std::find(read_.begin(), read_.end(), &one.value()) == read_.end()) {
        wrong(std::string(one.key()), "there is no such field here");
        break;
      }
  return mistake_;
}

void Query::wrong(std::string_view name, std::string why) {
  if (!mistake_) mistake_ = Mistake{std::string(name), invalid(format("{}: {}", name, why))};
}

std::string Query::text(std::string_view name, std::string_view otherwise) {
  const auto value = request_.asked(name);
  return value ? *value : std::string(otherwise);
}

std::int64_t Query::number(std::string_view name, std::int64_t least, std::int64_t most, std::int64_t otherwise) {
  const auto value = request_.asked(name);
  if (!value) return otherwise;
  const auto number = parse_number(*value);
  if (number && *number >= least && *number <= most) return *number;
  wrong(name, number ? range(least, most) : number.error().detail);
  return otherwise;
}

bool Query::truth(std::string_view name, bool otherwise) {
  const auto value = request_.asked(name);
  if (!value) return otherwise;
  if (*value == "true" || *value == "1" || value->empty()) return true;
  if (*value == "false" || *value == "0") return false;
  wrong(name, "it must be true or false");
  return otherwise;
}

std::optional<Duration> Query::time(std::string_view name) {
  const auto value = request_.asked(name);
  if (!value) return std::nullopt;
  const auto time = parse_duration(*value);
  if (time) return *time;
  wrong(name, time.error().detail);
  return std::nullopt;
}

Response problem(const Mistake& mistake) { return problem(mistake.error, mistake.field); }

}  // namespace pawl::serve
