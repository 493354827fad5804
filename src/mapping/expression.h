// The mapping language: compile() turns a source value (a literal, a "{reference}", a text with
// "{holes}", a "{= 1 + 2 }", a map, an "@pipe") into an Expression once, at deploy; evaluate() runs it per activity.
// docs/MAPPING.md is the reference.
//
// 1. compile() reports every mistake of a source at once; an Expression exists only without
// mistakes.
// 2. evaluate() is pure: the same expression and Data give the same result on every machine.
// 3. Neither throws, crashes or runs without bound on any input.
#pragma once

#include "mapping/budget.h"
#include "mapping/data.h"
#include "pawl/result.h"

#include <boost/json/fwd.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace pawl::mapping {

// `path` is a JSON pointer into the source ("/items/0/@pipe/1"; "" is the source itself);
// `suggestion` is what was probably meant, ready to paste, or empty.
struct Mistake {
  std::string path;
  std::string message;
  std::string suggestion;
  std::size_t at = 0;  // where in the text at `path`, in bytes

  friend bool operator==(const Mistake&, const Mistake&) = default;
};

enum class Scope : std::uint8_t {
  activity,  // {some_id...}
  self,      // {$self...}
  job,       // {$job...}
  hook,      // {$hook...}
  app,       // {$app...}
  graph,     // {$graph...}
  item,      // {$item}, {$key}, {$index}, {$input}, {$output}: only inside @reduce
  key,
  index,
  input,
  output,
};

// "$self", "$job", ...; for Scope::activity the empty text, since the id is the name.
std::string_view name_of(Scope scope);

// One {reference} of a source. In "{validate.output.data.items.0}" the scope is `activity`,
// `activity` is "validate" and the parts are "output", "data", "items", "0".
struct Reference {
  std::string path;  // its position in the source, as in Mistake
  Scope scope = Scope::activity;
  std::string activity;  // empty unless scope is `activity`
  std::vector<std::string> parts;
  std::size_t at = 0;  // as in Mistake

  friend bool operator==(const Reference&, const Reference&) = default;
};

struct CompileOptions {
  bool compat_hotmesh = false;  // docs/MAPPING.md, "Compatibility", lists what it changes
};

struct Compiled;  // compiled.h, private to this folder

// Immutable and cheap to copy; any thread may evaluate it.
class Expression {
 public:
  explicit Expression(std::shared_ptr<const Compiled> compiled) : compiled_(std::move(compiled)) {}

  // The result is plain JSON: a missing value is null, or a left-out key inside a map; NaN and the
  // infinities are null. Errors: `invalid` when a function refuses its operands, `over_limit` when
  // the budget is spent; the detail names the place in the source.
  Result<boost::json::value> evaluate(const Data& data, Budget& budget) const;

  // Every {reference}, in source order, including repeated ones.
  const std::vector<Reference>& references() const;

  // The value when the whole source is a literal (no reference, no pipe); else null.
  const boost::json::value* literal() const;

 private:
  std::shared_ptr<const Compiled> compiled_;  // shared: versions of a graph keep the same expressions
};

struct CompileResult {
  std::optional<Expression> expression;  // set exactly when `mistakes` is empty
  std::vector<Mistake> mistakes;
  std::vector<Mistake> doubts;  // what compiles, but probably means something else
};

CompileResult compile(const boost::json::value& source, const CompileOptions& options = {});

}  // namespace pawl::mapping
