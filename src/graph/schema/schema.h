// JSON Schema, the subset of draft 2020-12 that docs/SCHEMA.md lists: compile once, validate often.
//
// 1. compile_schema reports every mistake at once; a Schema exists only without mistakes.
// 2. validate never throws and always ends: steps and depth are limited, patterns are linear (RE2).
#pragma once

#include <boost/json/fwd.hpp>
#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace pawl::graph {

// Why a value does not fit: `path` is a JSON pointer into the value.
struct Fault {
  std::string path;
  std::string message;

  friend bool operator==(const Fault&, const Fault&) = default;
};

struct AbsentField {
  std::size_t index = 0;             // which of the names
  std::vector<std::string> known{};  // the fields that exist there, sorted
};

struct SchemaRules;  // rules.h, private to this folder

// Immutable; any thread may validate with it.
class Schema {
 public:
  explicit Schema(std::shared_ptr<const SchemaRules> rules);
  // Empty when the value fits; else the first schema_faults_max faults.
  std::vector<Fault> validate(const boost::json::value& value) const;
  // The first of these names, each a key below the ones before it, that no valid value can have: `additionalProperties:
  // false`, and neither `properties` nor `patternProperties` has it.
  std::optional<AbsentField> find_absent(std::span<const std::string> names) const;

 private:
  std::shared_ptr<const SchemaRules> rules_;  // shared: versions of an app keep the same schemas
};

struct SchemaMistake {
  enum class Kind { malformed, unknown_keyword };
  Kind kind = Kind::malformed;
  std::string path;  // JSON pointer into the schema
  std::string message;
  std::string suggestion;
};

struct SchemaResult {
  std::shared_ptr<const Schema> schema;  // set exactly when `mistakes` is empty
  std::vector<SchemaMistake> mistakes;
  std::vector<std::string> any_types{};  // where `type: any` is: not a type of JSON Schema, read as no type
};

SchemaResult compile_schema(const boost::json::value& source);

}  // namespace pawl::graph
