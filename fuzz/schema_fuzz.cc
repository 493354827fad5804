// The first line is a schema, the rest a value, both JSON: compiling and validating must end, twice with the same
// result.
#include <boost/json.hpp>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/invariant.h"
#include "graph/schema/schema.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace pawl;
  namespace json = boost::json;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto line = text.find('\n');
  if (line == std::string_view::npos) return 0;
  json::error_code failed;
  const json::value schema = json::parse(json::string_view(text.data(), line), failed);
  if (failed) return 0;
  const json::value value = json::parse(json::string_view(text.data() + line + 1, size - line - 1), failed);
  if (failed) return 0;
  const auto compiled = graph::compile_schema(schema);
  invariant((compiled.schema == nullptr) != compiled.mistakes.empty(), "a schema or a reason");
  if (compiled.schema == nullptr) return 0;
  invariant(compiled.schema->validate(value) == compiled.schema->validate(value), "validation is a function");
  return 0;
}
