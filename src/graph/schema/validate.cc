#include <boost/json.hpp>
#include <cmath>
#include <unordered_map>
#include <utility>

#include "base/format.h"
#include "graph/limits.h"
#include "graph/schema/equal.h"
#include "graph/schema/rules.h"
#include "graph/schema/schema.h"

namespace pawl::graph {
namespace {

namespace json = boost::json;

std::string_view view(json::string_view text) { return {text.data(), text.size()}; }
re2::StringPiece piece(json::string_view text) { return {text.data(), text.size()}; }

std::size_t character_count(json::string_view text) {
  std::size_t count = 0;
  for (const char c : text)
    if ((static_cast<unsigned char>(c) & 0xC0U) != 0x80U) ++count;
  return count;
}

bool is_whole(const json::value& value) {
  if (!value.is_double()) return true;
  return value.get_double() == std::floor(value.get_double());
}

unsigned types_of(const json::value& value) {
  switch (value.kind()) {
    case json::kind::null:
      return type_null;
    case json::kind::bool_:
      return type_boolean;
    case json::kind::int64:
    case json::kind::uint64:
    case json::kind::double_:
      return is_whole(value) ? type_number | type_integer : type_number;
    case json::kind::string:
      return type_string;
    case json::kind::array:
      return type_array;
    case json::kind::object:
      return type_object;
  }
  return 0;
}

std::string names_of(unsigned types) {
  static constexpr std::pair<unsigned, std::string_view> names[] = {
      {type_null, "null"},     {type_boolean, "boolean"}, {type_integer, "integer"}, {type_number, "number"},
      {type_string, "string"}, {type_array, "array"},     {type_object, "object"}};
  std::string out;
  for (const auto& [bit, name] : names) {
    if ((types & bit) == 0) continue;
    if (!out.empty()) out += " or ";
    out += name;
  }
  return out;
}

bool is_multiple(long double value, long double step) {
  const long double quotient = value / step;
  const long double nearest = std::nearbyint(quotient);
  // 0.3 is a multiple of 0.1 for people, though not for doubles.
  return std::abs(quotient - nearest) <= 1e-12L * std::max(1.0L, std::abs(quotient));
}

// One part of the path to a value; the path is only built when there is a fault to report.
struct Trail {
  const Trail* parent = nullptr;
  std::string_view key;
  std::size_t index = 0;
  bool is_index = false;

  void write(std::string& out) const {
    if (parent == nullptr) return;
    parent->write(out);
    out += '/';
    if (is_index) {
      out += format("{}", index);
      return;
    }
    for (const char c : key) {
      if (c == '~') {
        out += "~0";
      } else if (c == '/') {
        out += "~1";
      } else {
        out += c;
      }
    }
  }
};

class Validation {
 public:
  explicit Validation(const SchemaRules& rules) : rules_(rules), budget_(schema_steps_max) {}

  std::vector<Fault> run(const json::value& value) {
    Trail root;
    if (!fits(0, value, root, Mode::report)) {
      // An anyOf may hide an exhausted budget; report that instead of a fault of the value.
      if (exhausted()) faults_.assign(1, {"", "checking this value takes too many steps"});
    } else if (exhausted()) {
      faults_.assign(1, {"", "checking this value takes too many steps"});
    }
    return std::move(faults_);
  }

 private:
  enum class Mode { report, ask };

  bool exhausted() const { return budget_.exhausted() || too_deep_; }

  bool fault(Mode mode, const Trail& trail, std::string message) {
    if (mode == Mode::report && faults_.size() < schema_faults_max) {
      std::string path;
      trail.write(path);
      faults_.push_back({std::move(path), std::move(message)});
    }
    return false;
  }

  bool fits(RuleIndex index, const json::value& value, const Trail& trail, Mode mode) {
    if (!budget_.spend()) return false;
    if (depth_ >= schema_depth_max) {
      too_deep_ = true;
      return false;
    }
    ++depth_;
    const bool result = fits_rule(rules_.rules[index], value, trail, mode);
    --depth_;
    return result;
  }

  bool fits_rule(const Rule& rule, const json::value& value, const Trail& trail, Mode mode) {
    if (rule.refuses_all) return fault(mode, trail, "nothing is allowed here");
    if (rule.types != 0 && (types_of(value) & rule.types) == 0)
      return fault(mode, trail,
                   format("is {}, not {}",
                          names_of(types_of(value) & ~unsigned{type_number}).empty()
                              ? std::string("number")
                              : names_of(types_of(value) & ~unsigned{type_number}),
                          names_of(rule.types)));
    bool good = true;
    // In ask mode the first fault decides; in report mode all are collected.
    const auto need = [&](bool fine) {
      good = good && fine;
      return good || mode == Mode::report;
    };
    if (!need(fits_choice(rule, value, trail, mode))) return false;
    if (rule.reference && !need(fits(*rule.reference, value, trail, mode))) return false;
    if (value.is_number() && !need(fits_number(rule, value, trail, mode))) return false;
    if (value.is_string() && !need(fits_text(rule, value.get_string(), trail, mode))) return false;
    if (value.is_array() && !need(fits_array(rule, value.get_array(), trail, mode))) return false;
    if (value.is_object() && !need(fits_object(rule, value.get_object(), trail, mode))) return false;
    return need(fits_combined(rule, value, trail, mode)) && good;
  }

  bool fits_choice(const Rule& rule, const json::value& value, const Trail& trail, Mode mode) {
    if (rule.constant && !equal(value, *rule.constant, budget_))
      return fault(mode, trail, format("is not {}", json::serialize(*rule.constant)));
    if (!rule.choices) return true;
    for (const auto& choice : *rule.choices)
      if (equal(value, choice, budget_)) return true;
    std::string list;
    for (const auto& choice : *rule.choices) {
      if (list.size() > 200) {
        list += ", ...";
        break;
      }
      list += (list.empty() ? "" : ", ") + json::serialize(choice);
    }
    return fault(mode, trail, format("is not one of {}", list));
  }

  bool fits_number(const Rule& rule, const json::value& value, const Trail& trail, Mode mode) {
    const long double number = number_of(value);
    const auto shown = [](long double bound) { return format("{}", static_cast<double>(bound)); };
    bool good = true;
    if (rule.minimum && number < *rule.minimum) good = fault(mode, trail, format("is below {}", shown(*rule.minimum)));
    if (rule.maximum && number > *rule.maximum) good = fault(mode, trail, format("is above {}", shown(*rule.maximum)));
    if (rule.above && number <= *rule.above) good = fault(mode, trail, format("is not above {}", shown(*rule.above)));
    if (rule.below && number >= *rule.below) good = fault(mode, trail, format("is not below {}", shown(*rule.below)));
    if (rule.multiple_of && !is_multiple(number, *rule.multiple_of))
      good = fault(mode, trail, format("is not a multiple of {}", shown(*rule.multiple_of)));
    return good;
  }

  bool fits_text(const Rule& rule, const json::string& text, const Trail& trail, Mode mode) {
    bool good = true;
    if (rule.length.min > 0 || rule.length.max) {
      const std::size_t length = character_count(text);
      if (length < rule.length.min) good = fault(mode, trail, format("is shorter than {} characters", rule.length.min));
      if (rule.length.max && length > *rule.length.max)
        good = fault(mode, trail, format("is longer than {} characters", *rule.length.max));
    }
    if (rule.pattern) {
      if (!budget_.spend(text.size() / 64)) return false;
      if (!re2::RE2::PartialMatch(piece(text), *rule.pattern))
        good = fault(mode, trail, format("does not match {}", rule.pattern->pattern()));
    }
    if (!matches(rule.format, view(text))) good = fault(mode, trail, "does not have the right format");
    return good;
  }

  bool fits_count(const CountRange& range, std::size_t count, std::string_view what, const Trail& trail, Mode mode) {
    if (count < range.min) return fault(mode, trail, format("has fewer than {} {}", range.min, what));
    if (range.max && count > *range.max) return fault(mode, trail, format("has more than {} {}", *range.max, what));
    return true;
  }

  bool fits_array(const Rule& rule, const json::array& array, const Trail& trail, Mode mode) {
    bool good = fits_count(rule.item_count, array.size(), "items", trail, mode);
    std::size_t contained = 0;
    for (std::size_t i = 0; i < array.size(); ++i) {
      if (!good && mode == Mode::ask) return false;
      const Trail here{&trail, {}, i, true};
      if (i < rule.prefix_items.size()) {
        good = fits(rule.prefix_items[i], array[i], here, mode) && good;
      } else if (rule.items) {
        good = fits(*rule.items, array[i], here, mode) && good;
      }
      if (rule.contains && fits(*rule.contains, array[i], here, Mode::ask)) ++contained;
      if (exhausted()) return false;
    }
    if (rule.contains)
      good = fits_count(rule.contains_count, contained, "items of the wanted kind", trail, mode) && good;
    if (rule.unique_items) good = are_unique(array, trail, mode) && good;
    return good;
  }

  bool are_unique(const json::array& array, const Trail& trail, Mode mode) {
    std::unordered_multimap<std::uint64_t, std::size_t> seen;
    for (std::size_t i = 0; i < array.size(); ++i) {
      const std::uint64_t hash = hash_of(array[i], budget_);
      const auto [from, to] = seen.equal_range(hash);
      for (auto other = from; other != to; ++other)
        if (equal(array[other->second], array[i], budget_))
          return fault(mode, trail, format("has items {} and {} the same", other->second, i));
      if (exhausted()) return false;
      seen.emplace(hash, i);
    }
    return true;
  }

  bool fits_object(const Rule& rule, const json::object& object, const Trail& trail, Mode mode) {
    bool good = fits_count(rule.property_count, object.size(), "properties", trail, mode);
    for (const std::string& name : rule.required)
      if (object.if_contains(name) == nullptr) good = fault(mode, trail, format("lacks '{}'", name));
    for (const auto& [name, others] : rule.dependent_required) {
      if (object.if_contains(name) == nullptr) continue;
      for (const std::string& other : others)
        if (object.if_contains(other) == nullptr)
          good = fault(mode, trail, format("has '{}' but lacks '{}'", name, other));
    }
    for (const auto& entry : object) {
      if (!good && mode == Mode::ask) return false;
      good = fits_property(rule, entry, trail, mode) && good;
      if (exhausted()) return false;
    }
    return good;
  }

  bool fits_property(const Rule& rule, const json::key_value_pair& entry, const Trail& trail, Mode mode) {
    const Trail here{&trail, view(entry.key()), 0, false};
    bool good = true;
    bool known = false;
    if (rule.property_names) {
      const json::value name(entry.key());
      if (!fits(*rule.property_names, name, here, Mode::ask)) good = fault(mode, here, "is not an allowed name");
    }
    if (!rule.properties.empty()) {
      const auto found = rule.properties.find(std::string(view(entry.key())));
      if (found != rule.properties.end()) {
        known = true;
        good = fits(found->second, entry.value(), here, mode) && good;
      }
    }
    for (const auto& [pattern, index] : rule.pattern_properties) {
      if (!budget_.spend(1 + entry.key().size() / 64)) return false;
      if (!re2::RE2::PartialMatch(piece(entry.key()), *pattern)) continue;
      known = true;
      good = fits(index, entry.value(), here, mode) && good;
    }
    if (known || !rule.additional_properties) return good;
    if (rules_.rules[*rule.additional_properties].refuses_all) return fault(mode, here, "is not an allowed property");
    return fits(*rule.additional_properties, entry.value(), here, mode) && good;
  }

  bool fits_combined(const Rule& rule, const json::value& value, const Trail& trail, Mode mode) {
    bool good = true;
    for (const RuleIndex index : rule.all_of) {
      good = fits(index, value, trail, mode) && good;
      if (!good && mode == Mode::ask) return false;
    }
    if (!rule.any_of.empty()) {
      bool any = false;
      for (const RuleIndex index : rule.any_of)
        if (!any) any = fits(index, value, trail, Mode::ask);
      if (!any) good = fault(mode, trail, "fits none of the alternatives");
    }
    if (!rule.one_of.empty()) {
      std::size_t fitting = 0;
      for (const RuleIndex index : rule.one_of)
        if (fits(index, value, trail, Mode::ask)) ++fitting;
      if (fitting == 0) good = fault(mode, trail, "fits none of the alternatives");
      if (fitting > 1) good = fault(mode, trail, "fits more than one of the alternatives");
    }
    if (rule.negated && fits(*rule.negated, value, trail, Mode::ask)) good = fault(mode, trail, "is what must not be");
    if (rule.condition) {
      const OptionalRule& next = fits(*rule.condition, value, trail, Mode::ask) ? rule.consequence : rule.alternative;
      if (next) good = fits(*next, value, trail, mode) && good;
    }
    return good;
  }

  const SchemaRules& rules_;
  StepBudget budget_;
  std::vector<Fault> faults_;
  std::size_t depth_ = 0;
  bool too_deep_ = false;
};

}  // namespace

Schema::Schema(std::shared_ptr<const SchemaRules> rules) : rules_(std::move(rules)) {}

std::vector<Fault> Schema::validate(const json::value& value) const { return Validation(*rules_).run(value); }

}  // namespace pawl::graph
