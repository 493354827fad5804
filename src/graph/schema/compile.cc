#include <boost/json.hpp>
#include <cmath>
#include <map>
#include <set>

#include "base/format.h"
#include "graph/limits.h"
#include "graph/mistake.h"
#include "graph/schema/equal.h"
#include "graph/schema/rules.h"
#include "graph/schema/schema.h"

namespace pawl::graph {
namespace {

namespace json = boost::json;

constexpr std::size_t source_depth_max = 64;

std::string_view view(json::string_view text) { return {text.data(), text.size()}; }

std::string escaped(std::string_view key) {
  std::string out;
  for (const char c : key) {
    if (c == '~') {
      out += "~0";
    } else if (c == '/') {
      out += "~1";
    } else {
      out += c;
    }
  }
  return out;
}

class Compiler {
 public:
  SchemaResult run(const json::value& source) {
    root_ = &source;
    definitions_["#"] = add(source, "", 0);
    // Definitions are compiled when first named, then queued: a recursive one names itself.
    while (!queue_.empty()) {
      const Pending next = queue_.back();
      queue_.pop_back();
      fill(next.rule, *next.source, next.path, 1);
    }
    compile_unused_definitions();
    refuse_empty_loops();
    SchemaResult result;
    result.mistakes = std::move(mistakes_);
    result.any_types = std::move(any_types_);
    if (result.mistakes.empty()) {
      auto rules = std::make_shared<SchemaRules>();
      rules->rules = std::move(rules_);
      result.schema = std::make_shared<const Schema>(std::move(rules));
    }
    return result;
  }

 private:
  struct Pending {
    RuleIndex rule;
    const json::value* source;
    std::string path;
  };
  struct Keyword;
  using Reader = void (Compiler::*)(RuleIndex, const json::value&, const std::string&, std::size_t);
  struct Keyword {
    std::string_view name;
    Reader read;  // null: documentation only
  };
  static std::span<const Keyword> keywords();

  void mistake(const std::string& path, std::string message, std::string suggestion = {},
               SchemaMistake::Kind kind = SchemaMistake::Kind::malformed) {
    if (mistakes_.size() < mistakes_max) mistakes_.push_back({kind, path, std::move(message), std::move(suggestion)});
  }

  RuleIndex add(const json::value& source, const std::string& path, std::size_t depth) {
    const auto index = static_cast<RuleIndex>(rules_.size());
    rules_.emplace_back();
    if (rules_.size() > schema_nodes_max || depth > source_depth_max) {
      if (!exhausted_) mistake(path, format("more than {} schemas or {} levels", schema_nodes_max, source_depth_max));
      exhausted_ = true;
      return index;
    }
    fill(index, source, path, depth);
    return index;
  }

  void fill(RuleIndex index, const json::value& source, const std::string& path, std::size_t depth) {
    if (source.is_bool()) {
      rules_[index].refuses_all = !source.get_bool();
      return;
    }
    if (!source.is_object()) {
      mistake(path, "a schema is a map, true or false");
      return;
    }
    for (const auto& entry : source.get_object()) {
      const std::string_view name = view(entry.key());
      if (exhausted_) return;
      if (name.starts_with("x-")) continue;
      const Keyword* found = nullptr;
      for (const Keyword& keyword : keywords())
        if (keyword.name == name) found = &keyword;
      if (found == nullptr) {
        unknown_keyword(name, path);
      } else if (found->read != nullptr) {
        (this->*found->read)(index, entry.value(), path + "/" + escaped(name), depth);
      }
    }
  }

  void unknown_keyword(std::string_view name, const std::string& path) {
    std::vector<std::string_view> names;
    for (const Keyword& keyword : keywords()) names.push_back(keyword.name);
    mistake(path + "/" + escaped(name), format("'{}' is not a keyword of the supported subset", name),
            nearest(name, names), SchemaMistake::Kind::unknown_keyword);
  }

  void compile_unused_definitions() {
    const json::object* root = root_->if_object();
    const json::value* definitions = root == nullptr ? nullptr : root->if_contains("$defs");
    if (definitions == nullptr || !definitions->is_object()) return;
    for (const auto& entry : definitions->get_object()) {
      const std::string name = "#/$defs/" + escaped(view(entry.key()));
      if (!definitions_.contains(name)) {
        definitions_[name] = add(entry.value(), "/$defs/" + escaped(view(entry.key())), 1);
        while (!queue_.empty()) {
          const Pending next = queue_.back();
          queue_.pop_back();
          fill(next.rule, *next.source, next.path, 1);
        }
      }
    }
  }

  // {"$ref": "#"} alone, or a ring of such references: validation would never reach the value.
  void refuse_empty_loops() {
    for (RuleIndex start = 0; start < rules_.size(); ++start) {
      std::set<RuleIndex> seen;
      OptionalRule at = start;
      while (at && seen.insert(*at).second) at = rules_[*at].reference;
      if (at && *at == start && rules_[start].reference) {
        mistake("", "a $ref leads back to itself without looking at any value");
        return;
      }
    }
  }

  // ---- readers, one per group of keywords -------------------------------------------------------

  void read_type(RuleIndex rule, const json::value& value, const std::string& path, std::size_t) {
    if (value.is_string() && view(value.get_string()) == "any") {
      any_types_.push_back(path);
      return;
    }
    if (value.is_string()) {
      rules_[rule].types = type_bit(value.get_string(), path);
      return;
    }
    if (!value.is_array() || value.get_array().empty()) {
      mistake(path, "'type' is the name of a type or a list of names");
      return;
    }
    for (const auto& item : value.get_array()) {
      if (!item.is_string()) {
        mistake(path, "'type' is the name of a type or a list of names");
        return;
      }
      rules_[rule].types = static_cast<std::uint8_t>(rules_[rule].types | type_bit(item.get_string(), path));
    }
  }

  std::uint8_t type_bit(json::string_view name, const std::string& path) {
    static constexpr std::pair<std::string_view, TypeBit> types[] = {
        {"null", type_null},     {"boolean", type_boolean}, {"integer", type_integer}, {"number", type_number},
        {"string", type_string}, {"array", type_array},     {"object", type_object}};
    std::vector<std::string_view> names;
    for (const auto& [type, bit] : types) {
      if (type == view(name)) return bit;
      names.push_back(type);
    }
    mistake(path, format("'{}' is not a type; there are {}", view(name), any_of(names)), nearest(view(name), names));
    return 0;
  }

  void read_const(RuleIndex rule, const json::value& value, const std::string&, std::size_t) {
    rules_[rule].constant = value;
  }
  void read_enum(RuleIndex rule, const json::value& value, const std::string& path, std::size_t) {
    if (!value.is_array() || value.get_array().empty()) {
      mistake(path, "'enum' is a list of at least one value");
      return;
    }
    rules_[rule].choices.emplace(value.get_array().begin(), value.get_array().end());
  }

  void read_ref(RuleIndex rule, const json::value& value, const std::string& path, std::size_t) {
    if (!value.is_string()) {
      mistake(path, "'$ref' is a text");
      return;
    }
    const std::string name(view(value.get_string()));
    if (const auto known = definitions_.find(name); known != definitions_.end()) {
      rules_[rule].reference = known->second;
      return;
    }
    if (name == "#") {  // the root is being compiled right now; it is rule 0
      rules_[rule].reference = 0;
      return;
    }
    const json::value* target = find_definition(name, path);
    if (target == nullptr) return;
    const auto index = static_cast<RuleIndex>(rules_.size());
    rules_.emplace_back();
    definitions_[name] = index;
    rules_[rule].reference = index;
    queue_.push_back({index, target, name.substr(1)});
  }

  const json::value* find_definition(const std::string& name, const std::string& path) {
    constexpr std::string_view prefix = "#/$defs/";
    if (!name.starts_with(prefix) || name.find('/', prefix.size()) != std::string::npos) {
      mistake(path, format("'{}' is not of the form #/$defs/name", name));
      return nullptr;
    }
    const json::object* root = root_->if_object();
    const json::value* definitions = root == nullptr ? nullptr : root->if_contains("$defs");
    const json::object* map = definitions == nullptr ? nullptr : definitions->if_object();
    std::vector<std::string_view> names;
    if (map != nullptr) {
      for (const auto& entry : *map) {
        if (escaped(view(entry.key())) == name.substr(prefix.size())) return &entry.value();
        names.push_back(view(entry.key()));
      }
    }
    mistake(path, format("this schema has no '{}'", name), nearest(name.substr(prefix.size()), names));
    return nullptr;
  }

  void read_defs(RuleIndex, const json::value& value, const std::string& path, std::size_t depth) {
    if (!value.is_object()) mistake(path, "'$defs' is a map of schemas");
    if (depth > 0) mistake(path, "'$defs' stands at the root of a schema only");
  }

  std::optional<long double> number(const json::value& value, const std::string& path) {
    if (!value.is_number()) {
      mistake(path, "this must be a number");
      return std::nullopt;
    }
    return number_of(value);
  }
  void read_minimum(RuleIndex r, const json::value& v, const std::string& p, std::size_t) {
    rules_[r].minimum = number(v, p);
  }
  void read_maximum(RuleIndex r, const json::value& v, const std::string& p, std::size_t) {
    rules_[r].maximum = number(v, p);
  }
  void read_above(RuleIndex r, const json::value& v, const std::string& p, std::size_t) {
    rules_[r].above = number(v, p);
  }
  void read_below(RuleIndex r, const json::value& v, const std::string& p, std::size_t) {
    rules_[r].below = number(v, p);
  }
  void read_multiple_of(RuleIndex r, const json::value& v, const std::string& p, std::size_t) {
    rules_[r].multiple_of = number(v, p);
    if (rules_[r].multiple_of && *rules_[r].multiple_of <= 0) mistake(p, "this must be above 0");
  }

  std::optional<std::size_t> count(const json::value& value, const std::string& path) {
    if (value.is_number()) {
      const long double found = number_of(value);
      if (found >= 0 && found <= 1e15L && found == std::floor(found)) return static_cast<std::size_t>(found);
    }
    mistake(path, "this must be a whole number, 0 or more");
    return std::nullopt;
  }
  void read_min(std::size_t& min, const json::value& value, const std::string& path) {
    if (const auto found = count(value, path)) min = *found;
  }
  void read_min_length(RuleIndex r, const json::value& v, const std::string& p, std::size_t) {
    read_min(rules_[r].length.min, v, p);
  }
  void read_max_length(RuleIndex r, const json::value& v, const std::string& p, std::size_t) {
    rules_[r].length.max = count(v, p);
  }
  void read_min_items(RuleIndex r, const json::value& v, const std::string& p, std::size_t) {
    read_min(rules_[r].item_count.min, v, p);
  }
  void read_max_items(RuleIndex r, const json::value& v, const std::string& p, std::size_t) {
    rules_[r].item_count.max = count(v, p);
  }
  void read_min_properties(RuleIndex r, const json::value& v, const std::string& p, std::size_t) {
    read_min(rules_[r].property_count.min, v, p);
  }
  void read_max_properties(RuleIndex r, const json::value& v, const std::string& p, std::size_t) {
    rules_[r].property_count.max = count(v, p);
  }
  void read_min_contains(RuleIndex r, const json::value& v, const std::string& p, std::size_t) {
    read_min(rules_[r].contains_count.min, v, p);
  }
  void read_max_contains(RuleIndex r, const json::value& v, const std::string& p, std::size_t) {
    rules_[r].contains_count.max = count(v, p);
  }

  std::shared_ptr<const re2::RE2> make_pattern(std::string_view text, const std::string& path) {
    if (text.size() > schema_pattern_bytes_max) {
      mistake(path, format("a pattern of more than {} bytes", schema_pattern_bytes_max));
      return nullptr;
    }
    re2::RE2::Options options;
    options.set_log_errors(false);
    options.set_max_mem(static_cast<std::int64_t>(schema_pattern_memory_max));
    auto pattern = std::make_shared<const re2::RE2>(re2::StringPiece(text.data(), text.size()), options);
    if (pattern->ok()) return pattern;
    mistake(path, format("not a pattern of RE2: {}", pattern->error()));
    return nullptr;
  }
  void read_pattern(RuleIndex rule, const json::value& value, const std::string& path, std::size_t) {
    if (!value.is_string()) {
      mistake(path, "'pattern' is a text");
      return;
    }
    rules_[rule].pattern = make_pattern(view(value.get_string()), path);
  }
  void read_format(RuleIndex rule, const json::value& value, const std::string& path, std::size_t) {
    if (!value.is_string()) {
      mistake(path, "'format' is a text");
      return;
    }
    const std::string_view name = view(value.get_string());
    if (const auto found = find_text_format(name)) {
      rules_[rule].format = *found;
    } else {
      mistake(path, format("'{}' is not a known format", name), nearest(name, text_format_names()));
    }
  }

  template <class Each>
  void each_schema(const json::value& value, const std::string& path, Each each) {
    if (!value.is_object()) {
      mistake(path, "this must be a map of schemas");
      return;
    }
    for (const auto& entry : value.get_object())
      each(view(entry.key()), entry.value(), path + "/" + escaped(view(entry.key())));
  }

  void read_properties(RuleIndex rule, const json::value& value, const std::string& path, std::size_t depth) {
    each_schema(value, path, [&](std::string_view key, const json::value& inner, const std::string& at) {
      const RuleIndex index = add(inner, at, depth + 1);  // may move rules_
      rules_[rule].properties.emplace(key, index);
    });
  }
  void read_pattern_properties(RuleIndex rule, const json::value& value, const std::string& path, std::size_t depth) {
    each_schema(value, path, [&](std::string_view key, const json::value& inner, const std::string& at) {
      auto pattern = make_pattern(key, at);
      const RuleIndex index = add(inner, at, depth + 1);
      if (pattern) rules_[rule].pattern_properties.emplace_back(std::move(pattern), index);
    });
  }
  std::vector<std::string> names(const json::value& value, const std::string& path) {
    std::vector<std::string> out;
    bool fine = value.is_array();
    if (fine) {
      for (const auto& item : value.get_array()) {
        if (item.is_string()) {
          out.emplace_back(view(item.get_string()));
        } else {
          fine = false;
        }
      }
    }
    if (!fine) mistake(path, "this must be a list of property names");
    return out;
  }
  void read_required(RuleIndex r, const json::value& v, const std::string& p, std::size_t) {
    rules_[r].required = names(v, p);
  }
  void read_dependent(RuleIndex rule, const json::value& value, const std::string& path, std::size_t) {
    each_schema(value, path, [&](std::string_view key, const json::value& inner, const std::string& at) {
      rules_[rule].dependent_required.emplace_back(std::string(key), names(inner, at));
    });
  }

  template <OptionalRule Rule::*member>
  void read_one(RuleIndex rule, const json::value& value, const std::string& path, std::size_t depth) {
    const RuleIndex index = add(value, path, depth + 1);
    rules_[rule].*member = index;
  }
  template <std::vector<RuleIndex> Rule::*member>
  void read_many(RuleIndex rule, const json::value& value, const std::string& path, std::size_t depth) {
    if (!value.is_array() || value.get_array().empty()) {
      mistake(path, "this must be a list of at least one schema");
      return;
    }
    std::size_t at = 0;
    for (const auto& item : value.get_array()) {
      const RuleIndex index = add(item, format("{}/{}", path, at++), depth + 1);
      (rules_[rule].*member).push_back(index);
    }
  }
  void read_unique(RuleIndex rule, const json::value& value, const std::string& path, std::size_t) {
    if (!value.is_bool()) {
      mistake(path, "'uniqueItems' is true or false");
      return;
    }
    rules_[rule].unique_items = value.get_bool();
  }

  const json::value* root_ = nullptr;
  std::vector<Rule> rules_;
  std::map<std::string, RuleIndex> definitions_;
  std::vector<Pending> queue_;
  std::vector<SchemaMistake> mistakes_;
  std::vector<std::string> any_types_;
  bool exhausted_ = false;
};

std::span<const Compiler::Keyword> Compiler::keywords() {
  using C = Compiler;
  static constexpr Keyword list[] = {
      {"type", &C::read_type},
      {"const", &C::read_const},
      {"enum", &C::read_enum},
      {"$ref", &C::read_ref},
      {"$defs", &C::read_defs},
      {"minimum", &C::read_minimum},
      {"maximum", &C::read_maximum},
      {"exclusiveMinimum", &C::read_above},
      {"exclusiveMaximum", &C::read_below},
      {"multipleOf", &C::read_multiple_of},
      {"minLength", &C::read_min_length},
      {"maxLength", &C::read_max_length},
      {"pattern", &C::read_pattern},
      {"format", &C::read_format},
      {"properties", &C::read_properties},
      {"patternProperties", &C::read_pattern_properties},
      {"additionalProperties", &C::read_one<&Rule::additional_properties>},
      {"propertyNames", &C::read_one<&Rule::property_names>},
      {"required", &C::read_required},
      {"dependentRequired", &C::read_dependent},
      {"minProperties", &C::read_min_properties},
      {"maxProperties", &C::read_max_properties},
      {"prefixItems", &C::read_many<&Rule::prefix_items>},
      {"items", &C::read_one<&Rule::items>},
      {"contains", &C::read_one<&Rule::contains>},
      {"minContains", &C::read_min_contains},
      {"maxContains", &C::read_max_contains},
      {"minItems", &C::read_min_items},
      {"maxItems", &C::read_max_items},
      {"uniqueItems", &C::read_unique},
      {"allOf", &C::read_many<&Rule::all_of>},
      {"anyOf", &C::read_many<&Rule::any_of>},
      {"oneOf", &C::read_many<&Rule::one_of>},
      {"not", &C::read_one<&Rule::negated>},
      {"if", &C::read_one<&Rule::condition>},
      {"then", &C::read_one<&Rule::consequence>},
      {"else", &C::read_one<&Rule::alternative>},
      {"title", nullptr},
      {"description", nullptr},
      {"default", nullptr},
      {"example", nullptr},
      {"examples", nullptr},
      {"deprecated", nullptr},
      {"readOnly", nullptr},
      {"writeOnly", nullptr},
      {"$comment", nullptr},
      {"$schema", nullptr},
      {"$id", nullptr},
  };
  return list;
}

}  // namespace

SchemaResult compile_schema(const json::value& source) { return Compiler().run(source); }

}  // namespace pawl::graph
