// JavaScript's conversions and comparisons, on operands. Work that grows with a value is charged to the budget; when
// the budget is used up the result is arbitrary and the evaluator stops right after the call.
#pragma once

#include "mapping/budget.h"
#include "mapping/operand.h"

#include <optional>
#include <string>
#include <string_view>

namespace pawl::mapping {

// "null", "a boolean", "a number", "a string", "an array", "an object", "missing": for error texts.
std::string_view kind_name(const Operand& operand);

bool is_number(const boost::json::value& value);
// REQUIRES: is_number(value).
double number_of(const boost::json::value& value);

bool truthy(const Operand& operand);
double to_number(const Operand& operand, Budget& budget);
std::int32_t to_int32(double number);
// Towards zero; NaN is 0; clamped so that it fits.
std::int64_t to_integer(double number);

// String(value). The view is into the operand or into `buffer`.
std::string_view to_text(const Operand& operand, std::string& buffer, Budget& budget);

// Arrays and objects are equal when their contents are: values have no identity here.
bool strict_equal(const Operand& a, const Operand& b, Budget& budget);
bool loose_equal(const Operand& a, const Operand& b, Budget& budget);
bool deep_equal(const boost::json::value& a, const boost::json::value& b, Budget& budget);
// a < b; empty when either is not a number and they are not both text.
std::optional<bool> less_than(const Operand& a, const Operand& b, Budget& budget);

// About how many bytes a copy takes; stops counting when the budget is spent.
bool charge_copy(const boost::json::value& value, Budget& budget);
// Whether the value nests deeper than `levels`; a scalar needs none.
bool deeper_than(const boost::json::value& value, std::size_t levels);

}  // namespace pawl::mapping
