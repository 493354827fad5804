// How functions read their operands and build their results. A family's on_array, on_text, on_date or on_object decides
// what a null first operand does (null gives null, like `?.` in JavaScript).
#pragma once

#include "mapping/functions/functions.h"

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>

#include <cstddef>
#include <string>
#include <string_view>

namespace pawl::mapping {

// Operand `index`, or a missing one.
const Operand& operand_at(Operands operands, std::size_t index);

// "wants a string as operand 1, got a number"; the evaluator puts the function's name in front.
Error wants(std::string_view what, Operands operands, std::size_t index);

double number_at(Call& call, Operands operands, std::size_t index);
// `fallback` when the operand is missing (null is 0, as everywhere in JavaScript).
double number_at(Call& call, Operands operands, std::size_t index, double fallback);

// A string operand; numbers and booleans are converted. Empty when it is neither.
struct Text {
  bool valid;
  std::string_view view;
  std::string buffer;  // the target of `view` when the operand was converted
};
// Text is neither copied nor moved: `view` may point into `buffer`.
void read_text(Call& call, const Operand& operand, Text& text);

// JavaScript's relative index (negative counts from the end), clamped to 0..size.
std::size_t relative_index(double index, std::size_t size);

// Turns an operand into one that is owned, so that it can be changed in place.
Status own(Call& call, Operand& operand);
// The operand as an element of an array or object: missing, NaN and the infinities become null.
Result<boost::json::value> as_element(Call& call, Operand& operand);
// The same for an element that is already inside a borrowed container.
Result<boost::json::value> copy_element(Call& call, const boost::json::value& value);

// The result text, charged.
Result<Operand> text_result(Call& call, std::string_view text);

}  // namespace pawl::mapping
