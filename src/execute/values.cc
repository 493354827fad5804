#include "execute/values.h"

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <cmath>

#include "base/format.h"
#include "base/limits.h"
#include "base/utf8.h"
#include "graph/read/reader.h"
#include "mapping/convert.h"
#include "mapping/json_parse.h"
#include "mapping/json_text.h"
#include "mapping/limits.h"

namespace pawl::execute {
namespace {

// Expressions work on UTF-8 only; an invalid byte becomes U+FFFD.
json::value plain_text(std::string_view bytes) {
  const std::string text = valid_utf8(bytes);
  return json::value(json::string_view(text.data(), text.size()));
}

Error wanted(std::string_view what, const json::value& value) {
  return Error{ErrorCode::invalid, format("wants {}, got {}", what, kind_of(value))};
}

double number_of(const json::value& value) { return value.to_number<double>(); }

// A key such as "name[25]"; `inside` is the text in the brackets.
struct KeyForm {
  std::string_view name;
  std::string_view inside;
};
std::optional<KeyForm> key_form(std::string_view key) {
  const auto open = key.rfind('[');
  if (open == std::string_view::npos || open == 0 || key.back() != ']') return std::nullopt;
  const std::string_view inside = key.substr(open + 1, key.size() - open - 2);
  const bool number = !inside.empty() && inside.find_first_not_of("0123456789") == std::string_view::npos;
  if (!number && inside != "-" && inside != "_") return std::nullopt;
  return KeyForm{key.substr(0, open), inside};
}

}  // namespace

json::value read_payload(const Payload& payload) {
  if (payload.empty()) return {};
  auto parsed = mapping::parse_json(payload.view());
  return parsed ? std::move(*parsed) : plain_text(payload.view());
}

Result<Payload> write_payload(const json::value& value) {
  // What is written must be readable again.
  if (mapping::deeper_than(value, mapping::json_depth_max))
    return Error{ErrorCode::over_limit, format("nests more than {} deep", mapping::json_depth_max)};
  std::string text = mapping::json_text(value);
  if (text.size() > limits::payload_bytes_max)
    return Error{ErrorCode::over_limit,
                 format("makes {} bytes of JSON; at most {} are allowed", text.size(), limits::payload_bytes_max)};
  return Payload(std::move(text));
}

std::string_view kind_of(const json::value& value) {
  switch (value.kind()) {
    case json::kind::null:
      return "null";
    case json::kind::bool_:
      return value.get_bool() ? "true" : "false";
    case json::kind::int64:
    case json::kind::uint64:
    case json::kind::double_:
      return "a number";
    case json::kind::string:
      return "a text";
    case json::kind::array:
      return "a list";
    case json::kind::object:
      return "a map";
  }
  return "?";
}

Result<std::string> text_of(const json::value& value) {
  if (value.is_string()) return std::string(view(value.get_string()));
  if (value.is_number()) return mapping::json_text(value);
  return wanted("a text", value);
}

Result<std::int64_t> whole_of(const json::value& value, std::int64_t min, std::int64_t max) {
  const auto out_of_range = [&] {
    return Error{ErrorCode::invalid,
                 format("wants a whole number from {} to {}, got {}", min, max, mapping::json_text(value))};
  };
  if (!value.is_number()) return wanted("a whole number", value);
  const double number = number_of(value);
  if (number != std::floor(number) || number < static_cast<double>(min) || number > static_cast<double>(max))
    return out_of_range();
  return static_cast<std::int64_t>(number);
}

Duration duration_of_seconds(double seconds) {
  constexpr Duration longest = limits::duration_max;
  const double micros = seconds * 1e6;
  if (!(micros < static_cast<double>(longest.count()))) return longest;
  return Duration(std::llround(micros));
}

Result<std::optional<Duration>> duration_of(const json::value& value, graph::Dialect dialect) {
  std::optional<double> seconds;
  if (value.is_number()) {
    seconds = number_of(value);
  } else if (dialect == graph::Dialect::hotmesh || value.is_null()) {
    return std::optional<Duration>{};
  } else if (value.is_string()) {
    seconds = graph::parse_seconds(view(value.get_string()));
  }
  if (!seconds) return wanted("seconds or a text such as 90s, 5m or 2h", value);
  if (*seconds < 0 && dialect == graph::Dialect::pawl)
    return Error{ErrorCode::invalid, format("wants a time that is not negative, got {}", mapping::json_text(value))};
  return std::optional(duration_of_seconds(std::max(*seconds, 0.0)));
}

void merge(json::value& into, json::value from) {
  if (!into.is_object() || !from.is_object()) {
    into = std::move(from);
    return;
  }
  json::object& target = into.get_object();
  for (json::key_value_pair& member : from.get_object()) {
    json::value& place = target[member.key()];
    merge(place, std::move(member.value()));
  }
}

void merge_job_data(json::value& into, json::value from, graph::Dialect dialect) {
  if (dialect == graph::Dialect::pawl || !from.is_object()) {
    merge(into, std::move(from));
    return;
  }
  if (!into.is_object()) into = json::object();
  for (json::key_value_pair& member : from.get_object()) {
    const auto form = key_form({member.key().data(), member.key().size()});
    const bool spreads = form && (form->inside == "-" || form->inside == "_");
    if (spreads && member.value().is_object()) {
      merge(into, std::move(member.value()));
      continue;
    }
    const std::string_view name = form ? form->name : std::string_view(member.key().data(), member.key().size());
    json::value& place = into.get_object()[json::string_view(name.data(), name.size())];
    merge_job_data(place, std::move(member.value()), dialect);
  }
}

Status check_schema(const graph::SchemaPointer& schema, const json::value& value) {
  if (!schema) return {};
  const std::vector<graph::Fault> faults = schema->validate(value);
  if (faults.empty()) return {};
  std::string text = faults[0].path.empty() ? faults[0].message : format("{}: {}", faults[0].path, faults[0].message);
  if (faults.size() > 1) text += format(" (and {} more)", faults.size() - 1);
  return Error{ErrorCode::invalid, std::move(text)};
}

const graph::SchemaPointer& schema_for(const graph::Channel& channel, std::int32_t code) {
  for (const auto& [of, schema] : channel.schema_by_code)
    if (of == code) return schema;
  return channel.schema;
}

Error name_place(const graph::Activity& activity, std::string_view label, const Error& error) {
  // A detail that begins with a path continues the key: input.maps./amount.
  const std::string_view between = error.detail.starts_with('/') ? "." : ": ";
  return Error{error.code, format("activity \"{}\": {}{}{}", activity.id, label, between, error.detail)};
}

}  // namespace pawl::execute
