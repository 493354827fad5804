// What a mapping costs: simple references, maps, pipes, reduce, and compiling.
#include "base/random.h"
#include "mapping/data_document.h"
#include "mapping/expression.h"
#include "mapping/json_parse.h"

#include <benchmark/benchmark.h>
#include <boost/json/value.hpp>

#include <cstdlib>
#include <string_view>

namespace {

using namespace pawl::mapping;
namespace json = boost::json;

constexpr std::string_view document_text = R"({
  "$job": {"data": {"total": 129.95, "email": "  Ada@Example.com ", "tags": ["c", "a", "b"]}},
  "validate": {"output": {"data": {"order": {"id": "o-17", "items": [
    {"sku": "x", "price": 10}, {"sku": "y", "price": 20}, {"sku": "z", "price": 30}]}}}}
})";

json::value parsed(std::string_view text) {
  auto value = parse_json(text);
  if (!value) std::abort();
  return std::move(*value);
}

void evaluate(benchmark::State& state, std::string_view source) {
  const json::value document = parsed(document_text);
  const DataDocument view(document);
  const CompileResult compiled = compile(parsed(source));
  if (!compiled.expression) {
    state.SkipWithError("the source has mistakes");
    return;
  }
  for (auto _ : state) {
    Budget budget;
    auto result = compiled.expression->evaluate(view.data(), budget);
    if (!result) state.SkipWithError("the evaluation failed");
    benchmark::DoNotOptimize(result);
  }
  state.SetItemsProcessed(state.iterations());
}

void compile_source(benchmark::State& state, std::string_view source) {
  const json::value value = parsed(source);
  for (auto _ : state) {
    auto compiled = compile(value);
    benchmark::DoNotOptimize(compiled);
  }
  state.SetItemsProcessed(state.iterations());
}

constexpr std::string_view five_functions = R"({"@pipe": [["{$job.data.email}"], ["{@string.trim}"],
  ["{@string.toLowerCase}", "@"], ["{@string.split}", 1], ["{@array.get}", "example", "test"],
  ["{@string.replace}"]]})";
constexpr std::string_view arithmetic =
    R"({"@pipe": [["{$job.data.total}", 100], ["{@math.multiply}"],
  ["{@math.round}", 100], ["{@math.divide}", 2], ["{@number.toFixed}"], ["{@number.parseFloat}"]]})";
constexpr std::string_view map_of_ten =
    R"({"a": "{$job.data.total}", "b": "{$job.data.tags.0}", "c": 1,
  "d": "{validate.output.data.order.id}", "e": "text", "f": "{$job.data.tags.1}", "g": true,
  "h": "{validate.output.data.order.items.0.price}", "i": null, "j": {"k": "{$job.data.total}"}})";
constexpr std::string_view sum_of_prices = R"({"@pipe": [["{validate.output.data.order.items}", 0],
  {"@reduce": [["{$output}", "{$item.price}"], ["{@math.add}"]]}]})";

BENCHMARK_CAPTURE(evaluate, number_reference, R"("{$job.data.total}")");
BENCHMARK_CAPTURE(evaluate, deep_string_reference, R"("{validate.output.data.order.id}")");
BENCHMARK_CAPTURE(evaluate, whole_object_reference, R"("{validate.output.data.order}")");
BENCHMARK_CAPTURE(evaluate, map_of_ten, map_of_ten);
BENCHMARK_CAPTURE(evaluate, five_text_functions, five_functions);
BENCHMARK_CAPTURE(evaluate, five_number_functions, arithmetic);
BENCHMARK_CAPTURE(evaluate, reduce_three_items, sum_of_prices);
BENCHMARK_CAPTURE(compile_source, five_text_functions, five_functions);

}  // namespace

BENCHMARK_MAIN();
