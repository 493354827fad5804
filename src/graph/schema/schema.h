// JSON Schema, the subset of draft 2020-12 that docs/SCHEMA.md lists: compile once, validate often.
//
// 1. compile_schema reports every mistake at once; a Schema exists only without mistakes.
// 2. validate never throws and always ends: steps and depth are limited, patterns are linear (RE2).
#pragma once

#include <boost/json/fwd.hpp>
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

namespace pawl::graph {

// Why a value does not fit: `path` is a JSON pointer into the value.
struct Fault {
  std::string path;
  std::string message;

  friend bool operator==(const Fault&, const Fault&) = default;
};

struct SchemaRules;  // rules.h, private to this folder

// Immutable; any thread may validate with it.
class Schema {
 public:
  explicit Schema(std::shared_ptr<const SchemaRules> rules);
  // Empty when the value fits; else the first schema_faults_max faults.
  std::vector<Fault> validate(const boost::json::value& value) const;

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
};

SchemaResult compile_schema(const boost::json::value& source);

}  // namespace pawl::graph
