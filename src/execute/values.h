// Payloads as JSON values and back, and conversions of expression results. Errors tell what was expected and what came;
// the caller adds the activity and the key.
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

// The answer of a C++ program: empty is null, what is not JSON is a text.
json::value read_payload(const Payload& payload);
// Errors: over_limit beyond payload_bytes_max and json_depth_max.
Result<Payload> write_payload(const json::value& value);

// "null", "a list", "a text": for error texts.
std::string_view kind_of(const json::value& value);

Result<std::string> text_of(const json::value& value);  // a number becomes its digits
Result<std::int64_t> whole_of(const json::value& value, std::int64_t min, std::int64_t max);
// Seconds; null means no time. A text may have a unit, but not under compat: hotmesh, where anything but a number means
// no time.
Result<std::optional<Duration>> duration_of(const json::value& value, graph::Dialect dialect);
// A wait of 0 is no wait.
inline std::optional<Duration> unless_zero(std::optional<Duration> time) {
  return time == Duration(0) ? std::nullopt : time;
}
Duration duration_of_seconds(double seconds);  // limited to what a timer can hold

inline bool is_true(const json::value& value) { return value.is_bool() && value.get_bool(); }
inline bool is_false(const json::value& value) { return value.is_bool() && !value.get_bool(); }

// Objects are merged key by key, any other value replaces the old one.
void merge(json::value& into, json::value from);
// The result of job.maps is merged into the job's data. Under compat: hotmesh a key "name[25]" means "name", and the
// object under "name[-]" or "name[_]" is merged into the object that contains it.
void merge_job_data(json::value& into, json::value from, graph::Dialect dialect);

// The first error, as "/amount: must be a number".
Status check_schema(const graph::SchemaPointer& schema, const json::value& value);

// The schema of an answer with this code.
const graph::SchemaPointer& schema_for(const graph::Channel& channel, std::int32_t code);

// `activity "charge": input.maps./amount: math.add wants ...`
Error name_place(const graph::Activity& activity, std::string_view label, const Error& error);

}  // namespace pawl::execute
