// Fields of an answer. One that is missing, or is of another kind, is empty.
#pragma once

#include <array>
#include <boost/json.hpp>
#include <charconv>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "mapping/json_text.h"
#include "pawl/ids.h"
#include "pawl/payload.h"
#include "pawl/view.h"
#include "serve/job_json.h"
#include "serve/read_json.h"

namespace pawl::serve {

inline std::string text_in(const boost::json::object& object, std::string_view name) {
  const boost::json::value* value = object.if_contains(name);
  return value != nullptr && value->is_string() ? std::string(value->get_string()) : std::string();
}

template <class Number>
Number number_in(const boost::json::object& object, std::string_view name) {
  const boost::json::value* value = object.if_contains(name);
  if (value == nullptr) return {};
  if (value->is_int64()) return static_cast<Number>(value->get_int64());
  if (value->is_uint64()) return static_cast<Number>(value->get_uint64());
  if (value->is_double()) return static_cast<Number>(value->get_double());
  return {};
}

inline bool truth_in(const boost::json::object& object, std::string_view name) {
  const boost::json::value* value = object.if_contains(name);
  return value != nullptr && value->is_bool() && value->get_bool();
}

inline Payload payload_in(const boost::json::object& object, std::string_view name) {
  const boost::json::value* value = object.if_contains(name);
  return value == nullptr || value->is_null() ? Payload() : Payload(mapping::json_text(*value));
}

inline Instant time_in(const boost::json::object& object, std::string_view name) {
  return read_time(text_in(object, name));
}

inline RunId run_in(const boost::json::object& object) {
  const std::string digits = text_in(object, "run");
  std::uint64_t run = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), run);
  return RunId(run);
}

inline const boost::json::object* object_in(const boost::json::object& object, std::string_view name) {
  const boost::json::value* value = object.if_contains(name);
  return value != nullptr && value->is_object() ? &value->get_object() : nullptr;
}

template <class Each>
void each_in(const boost::json::object& object, std::string_view name, Each&& act) {
  const boost::json::value* value = object.if_contains(name);
  if (value == nullptr || !value->is_array()) return;
  for (const boost::json::value& one : value->get_array()) act(one);
}

template <class Each>
void each_object_in(const boost::json::object& object, std::string_view name, Each&& act) {
  each_in(object, name, [&](const boost::json::value& one) {
    if (one.is_object()) act(one.get_object());
  });
}

// The value whose name this is; `names` are all there are.
template <class Enum, std::size_t count>
std::optional<Enum> named_in(const std::string& name, const std::array<Enum, count>& values) {
  for (const Enum value : values)
    if (name_of(value) == name) return value;
  return std::nullopt;
}

inline constexpr std::array job_states{JobStatus::running,     JobStatus::completed, JobStatus::failed,
                                       JobStatus::interrupted, JobStatus::parked,    JobStatus::paused};
inline constexpr std::array activity_states{ActivityStatus::open, ActivityStatus::completed, ActivityStatus::errored,
                                            ActivityStatus::skipped, ActivityStatus::cancelled};
inline constexpr std::array effects{Effect::none, Effect::intended, Effect::started,
                                    Effect::done, Effect::failed,   Effect::unknown};
inline constexpr std::array event_kinds{
    Event::Kind::job_started,      Event::Kind::activity_opened,  Event::Kind::activity_pending,
    Event::Kind::activity_closed,  Event::Kind::job_closed,       Event::Kind::job_parked,
    Event::Kind::activity_retried, Event::Kind::activity_unknown, Event::Kind::job_paused,
    Event::Kind::job_resumed,      Event::Kind::job_announced};
inline constexpr std::array activity_kinds{ActivityKind::trigger,   ActivityKind::worker, ActivityKind::await,
                                           ActivityKind::hook,      ActivityKind::signal, ActivityKind::cycle,
                                           ActivityKind::interrupt, ActivityKind::join,   ActivityKind::map};

}  // namespace pawl::serve
