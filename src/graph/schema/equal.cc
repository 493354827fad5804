#include "graph/schema/equal.h"

#include <boost/json.hpp>
#include <functional>
#include <string_view>

namespace pawl::graph {
namespace json = boost::json;

long double number_of(const json::value& value) {
  if (value.is_int64()) return static_cast<long double>(value.get_int64());
  if (value.is_uint64()) return static_cast<long double>(value.get_uint64());
  return static_cast<long double>(value.get_double());
}

bool equal(const json::value& a, const json::value& b, StepBudget& budget) {
  if (!budget.spend()) return false;
  if (a.is_number() && b.is_number()) return number_of(a) == number_of(b);
  if (a.kind() != b.kind()) return false;
  if (a.is_string()) return a.get_string() == b.get_string();
  if (a.is_bool()) return a.get_bool() == b.get_bool();
  if (a.is_array()) {
    const auto& left = a.get_array();
    const auto& right = b.get_array();
    if (left.size() != right.size()) return false;
    for (std::size_t i = 0; i < left.size(); ++i)
      if (!equal(left[i], right[i], budget)) return false;
    return true;
  }
  if (a.is_object()) {
    const auto& left = a.get_object();
    const auto& right = b.get_object();
    if (left.size() != right.size()) return false;
    for (const auto& entry : left) {
      const json::value* other = right.if_contains(entry.key());
      if (other == nullptr || !equal(entry.value(), *other, budget)) return false;
    }
    return true;
  }
  return true;  // null
}

namespace {

std::uint64_t mixed(std::uint64_t hash, std::uint64_t more) {
  return (hash ^ more) * 0x9e3779b97f4a7c15ULL + (hash >> 29U);
}
std::uint64_t hash_text(json::string_view text) {
  return std::hash<std::string_view>{}(std::string_view(text.data(), text.size()));
}

}  // namespace

std::uint64_t hash_of(const json::value& value, StepBudget& budget) {
  if (!budget.spend()) return 0;
  if (value.is_number()) return std::hash<long double>{}(number_of(value));
  const auto kind = static_cast<std::uint64_t>(value.kind()) + 1;
  if (value.is_string()) return mixed(kind, hash_text(value.get_string()));
  if (value.is_bool()) return mixed(kind, value.get_bool() ? 1 : 2);
  std::uint64_t hash = kind;
  if (value.is_array())
    for (const auto& item : value.get_array()) hash = mixed(hash, hash_of(item, budget));
  if (value.is_object())  // a sum, because the order of keys is not significant
    for (const auto& entry : value.get_object()) hash += mixed(hash_text(entry.key()), hash_of(entry.value(), budget));
  return hash;
}

}  // namespace pawl::graph
