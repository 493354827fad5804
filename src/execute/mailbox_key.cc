#include "execute/mailbox_key.h"

#include <algorithm>
#include <boost/json/object.hpp>

#include "base/format.h"
#include "execute/values.h"
#include "mapping/expression.h"
#include "mapping/json_text.h"

namespace pawl::execute {
namespace {

// Two objects are equal regardless of the order of their keys, so their texts must be equal too.
json::value sorted(json::value value) {
  if (json::array* list = value.if_array())
    for (json::value& element : *list) element = sorted(std::move(element));
  if (json::object* object = value.if_object()) {
    std::vector<std::pair<std::string, json::value>> members;
    for (json::key_value_pair& member : *object)
      members.emplace_back(std::string(member.key().data(), member.key().size()), sorted(std::move(member.value())));
    std::sort(members.begin(), members.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    json::object out;
    for (auto& [key, inside] : members) out.emplace(key, std::move(inside));
    return out;
  }
  return value;
}

Status check_payload(const HookRule& rule, const json::value& payload) {
  if (rule.takes_any) return {};
  Status checked;
  for (const graph::SchemaPointer& schema : rule.payloads) {
    checked = check_schema(schema, payload);
    if (checked) return checked;
  }
  return checked;
}

Result<std::string> key_of(const HookRule& rule, const json::value& payload) {
  mapping::Data data;
  data.self.hook_data = &payload;
  data.hook_data = &payload;
  mapping::Budget budget;
  json::array values;
  for (const graph::Formula* actual : rule.actual) {
    auto value = actual->expression.evaluate(data, budget);
    if (!value) return Error{value.error().code, format("{}: {}", actual->where.path, value.error().detail)};
    values.push_back(std::move(*value));
  }
  return mailbox_key(rule.hash, std::move(values));
}

}  // namespace

Result<std::string> mailbox_key(std::uint64_t rule, json::array values) {
  std::string key = format("{:016x}:{}", rule, mapping::json_text(sorted(std::move(values))));
  if (key.size() > mailbox_key_bytes_max)
    return Error{ErrorCode::over_limit,
                 format("the values that a signal is found by take {} bytes; at most {} are allowed", key.size(),
                        mailbox_key_bytes_max)};
  return key;
}

Result<std::vector<std::string>> mailbox_keys(const AppPlan& app, std::string_view topic, const json::value& payload) {
  const auto found = app.rules_of_topic.find(std::string(topic));
  if (found == app.rules_of_topic.end())
    return Error{ErrorCode::not_found,
                 format("no hook of the app \"{}\" waits for the topic \"{}\"", app.app->id, topic)};
  std::vector<std::string> keys;
  Status refused;
  for (const HookRule& rule : found->second) {
    if (const Status fits = check_payload(rule, payload); !fits) {
      refused = Error{ErrorCode::invalid, format("the payload of a signal \"{}\": {}", topic, fits.error().detail)};
      continue;
    }
    auto key = key_of(rule, payload);
    if (!key) return key.error();
    keys.push_back(std::move(*key));
  }
  if (keys.empty()) return refused.error();
  return keys;
}

}  // namespace pawl::execute
