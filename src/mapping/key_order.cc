#include "mapping/key_order.h"

#include <boost/json/array.hpp>
#include <boost/json/value.hpp>

#include <algorithm>
#include <cstdint>
#include <optional>

namespace pawl::mapping {

namespace json = boost::json;

namespace {

// "0", "17", not "017", not "-1"; up to 2^32 - 2, as JavaScript counts indexes.
std::optional<std::uint64_t> whole_number_of(std::string_view key) {
  constexpr std::uint64_t index_max = 4294967294U;
  if (key.empty() || key.size() > 10 || (key.size() > 1 && key[0] == '0')) return std::nullopt;
  std::uint64_t index = 0;
  for (const char c : key) {
    if (c < '0' || c > '9') return std::nullopt;
    index = index * 10 + static_cast<std::uint64_t>(c - '0');
  }
  return index <= index_max ? std::optional(index) : std::nullopt;
}

bool is_ordered(const json::object& object) {
  std::optional<std::uint64_t> last;
  bool names_began = false;
  for (const json::key_value_pair& member : object) {
    const auto index = whole_number_of(member.key());
    if (!index) {
      names_began = true;
      continue;
    }
    if (names_began || (last && *index < *last)) return false;
    last = index;
  }
  return true;
}

}  // namespace

std::vector<const json::key_value_pair*> in_javascript_order(const json::object& object) {
  std::vector<const json::key_value_pair*> members;
  members.reserve(object.size());
  for (const json::key_value_pair& member : object) members.push_back(&member);
  if (is_ordered(object)) return members;
  const auto names = std::stable_partition(
      members.begin(), members.end(), [](const auto* member) { return whole_number_of(member->key()).has_value(); });
  std::sort(members.begin(), names,
            [](const auto* a, const auto* b) { return *whole_number_of(a->key()) < *whole_number_of(b->key()); });
  return members;
}

bool order_keys(json::value& value, Budget& budget) {
  if (json::array* array = value.if_array()) {
    for (json::value& element : *array)
      if (!order_keys(element, budget)) return false;
    return true;
  }
  json::object* object = value.if_object();
  if (object == nullptr) return true;
  if (!budget.spend_steps(object->size())) return false;
  for (json::key_value_pair& member : *object)
    if (!order_keys(member.value(), budget)) return false;
  if (is_ordered(*object)) return true;
  json::object ordered(object->storage());
  ordered.reserve(object->size());
  for (const json::key_value_pair* member : in_javascript_order(*object))
    ordered.emplace(member->key(), std::move(const_cast<json::value&>(member->value())));  // ours, and dropped below
  *object = std::move(ordered);
  return true;
}

}  // namespace pawl::mapping
