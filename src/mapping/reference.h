// {references}: their text, their checks, and the way from a compiled one to a value.
#pragma once

#include "mapping/compiled.h"
#include "mapping/operand.h"

#include <array>
#include <string>
#include <string_view>
#include <variant>

namespace pawl::mapping {

// What a string in a source is.
struct LiteralText {
  std::string text;
};
struct FunctionText {
  std::string name;  // "date.now"
};
struct ReferenceText {
  std::string scope;  // "$self" or an activity's id
  std::vector<std::string> parts;
};
struct WrongText {
  std::string message;
  std::string suggestion;
};
using SourceText = std::variant<LiteralText, FunctionText, ReferenceText, WrongText>;

// Only a string that begins with { and ends with } is more than a literal; {{x}} is the literal
// "{x}".
SourceText read_source_text(std::string_view text);

inline constexpr std::array<std::string_view, 3> activity_sections = {"input", "output", "hook"};

// Turns the parts into a node, or reports what is wrong with them. `reducing`: inside @reduce.
struct ReferenceContext {
  bool reducing;
  bool compat_hotmesh;
};
std::variant<ReferenceNode, WrongText> bind_reference(const ReferenceText& text, const ReferenceContext& context);

// The variables of the active @reduce; inner ones hide outer ones.
struct ReduceFrame {
  const boost::json::value* input;
  Operand output;  // the accumulator
  Operand item;
  Operand key;
  Operand index;
};

Operand resolve(const ReferenceNode& node, const Data& data, ReduceFrame* frame);

}  // namespace pawl::mapping
