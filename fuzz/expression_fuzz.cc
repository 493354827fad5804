// Any JSON as a mapping expression: compiling and evaluating must end, within budget, without a crash, and the result
// must be JSON that can be written and read back. The input is {"source": ..., "data": ...}; without those keys it is
// the source itself.
#include "base/invariant.h"
#include "base/random.h"
#include "mapping/convert.h"
#include "mapping/data_document.h"
#include "mapping/expression.h"
#include "mapping/json_parse.h"
#include "mapping/json_text.h"

#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace {

using namespace pawl::mapping;
namespace json = boost::json;

void check_result(const json::value& value) {
  pawl::invariant(!deeper_than(value, 2 * value_depth_max), "a result nests within bounds");
  if (deeper_than(value, json_depth_max - 1)) return;
  const auto again = parse_json(json_text(value));
  pawl::invariant(again.ok(), "a result is JSON");
  Budget unbounded({.steps = ~0ULL, .bytes = ~0ULL});
  pawl::invariant(deep_equal(value, *again, unbounded), "a result survives being written and read");
}

void run(const json::value& source, const json::value& document, bool compat_hotmesh) {
  const CompileResult compiled = compile(source, {.compat_hotmesh = compat_hotmesh});
  if (!compiled.expression) return;
  pawl::Random random(1);
  const DataDocument view(document);
  Data data = view.data();
  data.now = pawl::Instant::from_micros(1709211909007000);
  data.random = &random;
  Budget budget({.steps = 20'000, .bytes = 1 << 20});
  const auto result = compiled.expression->evaluate(data, budget);
  if (result) check_result(*result);
  pawl::invariant(result.ok() || !result.error().detail.empty(), "a failure says why");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  const auto parsed = parse_json({reinterpret_cast<const char*>(bytes), size});
  if (!parsed) return 0;
  const json::object* both = parsed->if_object();
  const json::value* source = both == nullptr ? nullptr : both->if_contains("source");
  const json::value* document = both == nullptr ? nullptr : both->if_contains("data");
  const json::value nothing;
  for (const bool compat_hotmesh : {false, true})
    run(source == nullptr ? *parsed : *source, document == nullptr ? nothing : *document, compat_hotmesh);
  return 0;
}
