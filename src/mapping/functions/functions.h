// The table of functions. A family is one file here; it lists its functions with name and operand
// count, so that an unknown name or a wrong count is a mistake at compile time.
#pragma once

#include "mapping/budget.h"
#include "mapping/data.h"
#include "mapping/operand.h"
#include "pawl/result.h"

#include <cstdint>
#include <span>
#include <string_view>

namespace pawl::mapping {

// What a function may use besides its operands.
struct Call {
  const Data& data;
  Budget& budget;
  bool compat_hotmesh;
};

// Operands may be moved from: the evaluator drops them after the call.
using Operands = std::span<Operand>;
using Body = Result<Operand> (*)(Call& call, Operands operands);

// Whether the work grows with the length of the operands; the evaluator charges for it before the call.
enum class Work : std::uint8_t { constant, scans };

// How a function treats a missing operand. Arithmetic refuses it: undefined would count as NaN, and the result would
// silently be null. Under compat_hotmesh all functions convert.
enum class OnMissing : std::uint8_t { converts, refuses };

inline constexpr std::uint8_t any_count = 255;

struct Function {
  std::string_view name;  // "string.split"
  std::uint8_t count_min;
  std::uint8_t count_max;
  Work work;
  Body body;
  OnMissing on_missing = OnMissing::converts;
};

// Calls the body, unless a required operand is missing.
Result<Operand> invoke(const Function& function, Call& call, Operands operands);

// All functions, sorted by name.
std::span<const Function> all_functions();
const Function* find_function(std::string_view name);

// Functions of infix expressions and of texts with holes: not in the table, because only the compiler names them. Null
// for an operator that has no function. `prefix`: - before one operand.
const Function* find_operator(std::string_view sign, bool prefix = false);
const Function& interpolation();

std::span<const Function> array_functions();
std::span<const Function> bitwise_functions();
std::span<const Function> conditional_functions();
std::span<const Function> cron_functions();
std::span<const Function> date_functions();
std::span<const Function> json_functions();
std::span<const Function> logical_functions();
std::span<const Function> math_functions();
std::span<const Function> number_functions();
std::span<const Function> object_functions();
std::span<const Function> string_functions();
std::span<const Function> symbol_functions();
std::span<const Function> unary_functions();

}  // namespace pawl::mapping
