// Payloads as JSON values and back, and what the results of expressions are taken for. Errors say
// what was wanted and what came; whoever calls adds the activity and the key.
#pragma once

#include <boost/json/value.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "graph/model.h"
#include "graph/schema/schema.h"
#include "pawl/payload.h"
#include "pawl/result.h"
#include "pawl/time.h"

namespace pawl::execute {

namespace json = boost::json;

inline std::string_view view(const json::string& text) { return {text.data(), text.size()}; }

// Whatever a C++ program answered: nothing is null, what is not JSON is a text.
json::value read_payload(const Payload& payload);
// Errors: over_limit beyond payload_bytes_max and json_depth_max.
Result<Payload> write_payload(const json::value& value);

// "null", "a list", "a text": for error texts.
std::string_view kind_of(const json::value& value);

Result<std::string> text_of(const json::value& value);  // a number is taken as its digits
Result<std::int64_t> whole_of(const json::value& value, std::int64_t min, std::int64_t max);
// Seconds; null is no time at all. A text may have a unit, but not under compat: hotmesh, where
// anything but a number is no time.
Result<std::optional<Duration>> duration_of(const json::value& value, graph::Dialect dialect);
// A wait of 0 is no wait.
inline std::optional<Duration> unless_zero(std::optional<Duration> time) {
  return time == Duration(0) ? std::nullopt : time;
}
Duration duration_of_seconds(double seconds);  // cut to what a timer can hold

inline bool is_true(const json::value& value) { return value.is_bool() && value.get_bool(); }
inline bool is_false(const json::value& value) { return value.is_bool() && !value.get_bool(); }

// Objects are laid over each other key by key, anything else replaces what was there.
void merge(json::value& into, json::value from);
// What job.maps made is laid over the job's data. Under compat: hotmesh a key "name[25]" means
// "name", and the object under "name[-]" or "name[_]" is laid over what it stands in.
void merge_job_data(json::value& into, json::value from, graph::Dialect dialect);

// The first fault, as "/amount: must be a number".
Status check_schema(const graph::SchemaPointer& schema, const json::value& value);

// The schema of an answer with this code.
const graph::SchemaPointer& schema_for(const graph::Channel& channel, std::int32_t code);

// `activity "charge": input.maps./amount: math.add wants ...`
Error name_place(const graph::Activity& activity, std::string_view label, const Error& error);

}  // namespace pawl::execute
