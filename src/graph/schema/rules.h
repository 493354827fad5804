// A compiled schema: a flat list of rules that name each other by index.
#pragma once

#include <re2/re2.h>

#include <boost/json/value.hpp>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "graph/schema/text_format.h"

namespace pawl::graph {

using RuleIndex = std::uint32_t;
using OptionalRule = std::optional<RuleIndex>;

enum TypeBit : std::uint8_t {
  type_null = 1,
  type_boolean = 2,
  type_integer = 4,
  type_number = 8,
  type_string = 16,
  type_array = 32,
  type_object = 64,
};

struct CountRange {
  std::size_t min = 0;
  std::optional<std::size_t> max;
};

struct Rule {
  bool refuses_all = false;  // the schema `false`
  std::uint8_t types = 0;    // 0: any
  std::optional<boost::json::value> constant;
  std::optional<std::vector<boost::json::value>> choices;
  OptionalRule reference;

  // Long double holds every int64, uint64 and double exactly on the platforms that we support.
  std::optional<long double> minimum, maximum, above, below, multiple_of;

  CountRange length;
  std::shared_ptr<const re2::RE2> pattern;
  TextFormat format = TextFormat::none;

  std::unordered_map<std::string, RuleIndex> properties;
  std::vector<std::string> required;
  std::vector<std::pair<std::shared_ptr<const re2::RE2>, RuleIndex>> pattern_properties;
  OptionalRule additional_properties, property_names;
  CountRange property_count;
  std::vector<std::pair<std::string, std::vector<std::string>>> dependent_required;

  std::vector<RuleIndex> prefix_items;
  OptionalRule items, contains;
  CountRange contains_count{1, std::nullopt};
  CountRange item_count;
  bool unique_items = false;

  std::vector<RuleIndex> all_of, any_of, one_of;
  OptionalRule negated, condition, consequence, alternative;
};

struct SchemaRules {
  std::vector<Rule> rules;  // rules[0] is the root
};

}  // namespace pawl::graph
