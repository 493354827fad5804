#include "execute/hook_output.h"

#include <boost/json/object.hpp>

namespace pawl::execute {

namespace json = boost::json;

bool keeps_payload(const graph::Activity& activity) {
  const auto* hook = std::get_if<graph::Hook>(&activity.kind);
  return hook != nullptr && hook->topic.has_value();
}

json::value join_outputs(json::value output, std::optional<json::value> payload) {
  json::object kept;
  kept.emplace("output", std::move(output));
  if (payload) kept.emplace("hook", std::move(*payload));
  return kept;
}

const json::value* output_in(const json::value& kept) {
  const json::object* object = kept.if_object();
  const json::value* output = object == nullptr ? nullptr : object->if_contains("output");
  return output == nullptr ? &kept : output;
}

const json::value* payload_in(const json::value& kept) {
  const json::object* object = kept.if_object();
  return object == nullptr || !object->contains("output") ? nullptr : object->if_contains("hook");
}

}  // namespace pawl::execute
