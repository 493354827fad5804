// Which fields a schema excludes, without a value.
#include <algorithm>

#include "graph/limits.h"
#include "graph/schema/rules.h"
#include "graph/schema/schema.h"

namespace pawl::graph {
namespace {

bool is_index(std::string_view name) {
  return !name.empty() && name.find_first_not_of("0123456789") == std::string_view::npos;
}

class Fields {
 public:
  explicit Fields(const SchemaRules& rules) : rules_(rules) {}

  std::optional<AbsentField> find(RuleIndex start, std::span<const std::string> names) const {
    RuleIndex at = start;
    for (std::size_t i = 0; i < names.size(); ++i) {
      at = behind_references(at);
      const Rule& rule = rules_.rules[at];
      if (is_absent(rule, names[i])) return AbsentField{i, known(rule)};
      const OptionalRule next = step(rule, names[i]);
      if (!next) return std::nullopt;
      at = *next;
    }
    return std::nullopt;
  }

 private:
  // A $ref with keywords beside it is not followed: both would have to be checked.
  RuleIndex behind_references(RuleIndex at) const {
    for (std::size_t i = 0; i < schema_depth_max; ++i) {
      const Rule& rule = rules_.rules[at];
      if (!rule.reference || !rule.properties.empty() || rule.additional_properties) break;
      at = *rule.reference;
    }
    return at;
  }

  bool is_absent(const Rule& rule, const std::string& name) const {
    if (!rule.additional_properties || !rules_.rules[*rule.additional_properties].refuses_all) return false;
    if ((rule.types & type_array) != 0 || rule.properties.contains(name)) return false;
    return std::none_of(rule.pattern_properties.begin(), rule.pattern_properties.end(),
                        [&name](const auto& entry) { return re2::RE2::PartialMatch(name, *entry.first); });
  }

  static OptionalRule step(const Rule& rule, const std::string& name) {
    if (const auto found = rule.properties.find(name); found != rule.properties.end()) return found->second;
    if (is_index(name) && rule.prefix_items.empty()) return rule.items;
    return std::nullopt;
  }

  static std::vector<std::string> known(const Rule& rule) {
    std::vector<std::string> names;
    for (const auto& [name, index] : rule.properties) names.push_back(name);
    std::sort(names.begin(), names.end());
    return names;
  }

  const SchemaRules& rules_;
};

}  // namespace

std::optional<AbsentField> Schema::find_absent(std::span<const std::string> names) const {
  return Fields(*rules_).find(0, names);
}

}  // namespace pawl::graph
