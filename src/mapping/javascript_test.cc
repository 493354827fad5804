// Every function against JavaScript's own results (testdata/make_javascript_cases.mjs).
#include "mapping/convert.h"
#include "mapping/functions/functions.h"
#include "mapping/test_support.h"

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <sstream>

namespace pawl::mapping {
namespace {

namespace json = boost::json;

// C's and JavaScript's libraries may differ in the last digit of these.
bool may_differ_in_last_digit(std::string_view name) {
  static const std::set<std::string_view> names = {
      "math.acos", "math.acosh", "math.asin", "math.asinh", "math.atan",  "math.atan2", "math.atanh", "math.cbrt",
      "math.cos",  "math.cosh",  "math.exp",  "math.expm1", "math.hypot", "math.log",   "math.log10", "math.log1p",
      "math.log2", "math.pow",   "math.sin",  "math.sinh",  "math.tan",   "math.tanh",  "number.pow"};
  return names.contains(name);
}

bool same(std::string_view name, const json::value& got, const json::value& expected) {
  Budget budget;
  if (deep_equal(got, expected, budget)) return true;
  if (!may_differ_in_last_digit(name) || !is_number(got) || !is_number(expected)) return false;
  const double allowed = std::fabs(number_of(expected)) * 4e-16;
  return std::fabs(number_of(got) - number_of(expected)) <= allowed;
}

const json::value undefined = "{@symbol.undefined}";

bool refuses_missing(std::string_view name) { return find_function(name)->on_missing == OnMissing::refuses; }

TEST(Javascript, every_function_answers_as_javascript_does) {
  std::istringstream lines(read_tree_file("src/mapping/testdata/javascript_cases.jsonl"));
  std::map<std::string, int> counts;
  int failures = 0;
  for (std::string line; std::getline(lines, line);) {
    const json::value test = json_of(line);
    const std::string name(test.at("function").as_string());
    ++counts[name];
    json::array rows;
    const json::array& cells = test.at("cells").as_array();
    if (!cells.empty()) rows.push_back(cells);
    rows.push_back(json::array{json::value("{@" + name + "}")});
    // In JavaScript arithmetic on undefined is NaN; here it is an error, except under compat_hotmesh.
    const bool refused = refuses_missing(name) && std::find(cells.begin(), cells.end(), undefined) != cells.end();
    const CompileResult compiled = compile(json::object{{"@pipe", rows}}, {.compat_hotmesh = refused});
    ASSERT_TRUE(compiled.expression) << line << describe(compiled.mistakes);
    Data data;
    Budget budget;
    if (refused) {
      const CompileResult plain = compile(json::object{{"@pipe", rows}});
      EXPECT_FALSE(plain.expression->evaluate(data, budget)) << line;
    }
    const auto result = compiled.expression->evaluate(data, budget);
    const bool right = result && same(name, *result, test.at("expected"));
    if (!right && ++failures <= 60)
      ADD_FAILURE() << line << "\n  got " << (result ? json_text(*result) : to_string(result.error()));
  }
  EXPECT_EQ(failures, 0);
  for (const Function& function : all_functions()) {
    // These depend on the time or on randomness, or differ on purpose; docs/MAPPING.md has their examples.
    static const std::set<std::string_view> elsewhere = {
        "date.now",      "date.yyyymmdd",         "date.toISOXString",
        "symbol.date",   "math.random",           "cron.nextDelay",
        "array.unshift", "object.defineProperty", "object.defineProperties"};
    if (elsewhere.contains(function.name)) continue;
    EXPECT_GT(counts[std::string(function.name)], 0) << function.name;
  }
}

}  // namespace
}  // namespace pawl::mapping
