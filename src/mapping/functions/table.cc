#include "mapping/functions/functions.h"

#include "base/format.h"

#include <algorithm>
#include <vector>

namespace pawl::mapping {

namespace {

std::vector<Function> collect() {
  std::vector<Function> all;
  for (const auto family : {array_functions, bitwise_functions, conditional_functions, cron_functions, date_functions,
                            json_functions, logical_functions, math_functions, number_functions, object_functions,
                            string_functions, symbol_functions, unary_functions}) {
    const std::span<const Function> functions = family();
    all.insert(all.end(), functions.begin(), functions.end());
  }
  std::sort(all.begin(), all.end(), [](const Function& a, const Function& b) { return a.name < b.name; });
  return all;
}

// "operand 2, $job.data.sum, is missing"
Error missing_operand(Operands operands, std::size_t index) {
  const std::string_view written = operands[index].written();
  return Error{ErrorCode::invalid, written.empty() ? format("operand {} is missing", index + 1)
                                                   : format("operand {}, {}, is missing", index + 1, written)};
}

}  // namespace

Result<Operand> invoke(const Function& function, Call& call, Operands operands) {
  if (function.on_missing == OnMissing::refuses && !call.compat_hotmesh)
    for (std::size_t i = 0; i < operands.size(); ++i)
      if (operands[i].missing()) return missing_operand(operands, i);
  return function.body(call, operands);
}

std::span<const Function> all_functions() {
  static const std::vector<Function> all = collect();
  return all;
}

const Function* find_function(std::string_view name) {
  const auto all = all_functions();
  const auto found =
      std::lower_bound(all.begin(), all.end(), name, [](const Function& f, std::string_view n) { return f.name < n; });
  return found != all.end() && found->name == name ? &*found : nullptr;
}

}  // namespace pawl::mapping
