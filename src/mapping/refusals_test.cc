// What functions refuse, what they do with null, and that no function crashes on any kind of operand.
#include "mapping/functions/functions.h"
#include "mapping/test_support.h"

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>

namespace pawl::mapping {
namespace {

namespace json = boost::json;

std::string call(std::string_view name, std::string_view operands) {
  return evaluate_text("{\"@pipe\": [" + std::string(operands) + ", [\"{@" + std::string(name) + "}\"]]}");
}

TEST(Refusals, name_the_place_the_function_and_the_operand) {
  EXPECT_EQ(call("string.trim", "[[1]]"),
            "error: invalid: /@pipe/1: string.trim: wants a string as operand 1, got an array");
  EXPECT_EQ(call("array.push", R"(["a", 1])"),
            "error: invalid: /@pipe/1: array.push: wants an array as operand 1, got a string");
  EXPECT_EQ(call("object.assign", "[{}, 1]"),
            "error: invalid: /@pipe/1: object.assign: wants an object as operand 2, got a number");
  EXPECT_EQ(call("date.getDay", R"(["yesterday"])"),
            "error: invalid: /@pipe/1: date.getDay: wants a date (ISO 8601 text or milliseconds) "
            "as operand 1, got a string");
  EXPECT_EQ(call("number.toFixed", "[1.5, 101]"), "error: invalid: /@pipe/1: number.toFixed: wants 0 to 100 digits");
  EXPECT_EQ(call("string.repeat", R"(["a", -1])"),
            "error: invalid: /@pipe/1: string.repeat: wants a count of 0 or more as operand 2, got "
            "a number");
  EXPECT_EQ(call("array.sort", R"([[1], "UP"])"),
            "error: invalid: /@pipe/1: array.sort: wants \"ASCENDING\" or \"DESCENDING\" as "
            "operand 2, got a string");
  EXPECT_EQ(call("json.parse", R"(["[1,"])").substr(0, 63),
            "error: invalid: /@pipe/1: json.parse: not JSON: line 1, column ");
  EXPECT_NE(call("string.search", R"(["a", "(?=b)c"])").find("cannot use the pattern"), std::string::npos);
  EXPECT_NE(call("object.fromEntries", "[[1]]").find("[key, value] pairs"), std::string::npos);
}

TEST(Refusals, null_in_is_null_out) {
  for (const char* name : {"array.get", "array.length", "array.pop", "object.keys", "string.trim", "string.split",
                           "date.getTime", "json.parse", "number.toFixed"}) {
    EXPECT_EQ(call(name, "[null]"), "null") << name;
    EXPECT_EQ(call(name, R"(["{$job.data.missing}"])"), "null") << name;
  }
  EXPECT_EQ(call("object.set", R"([null, "a", 1])"), R"({"a":1})");
}

TEST(Refusals, cron_gives_minus_one_for_what_is_no_text) {
  EXPECT_EQ(call("cron.nextDelay", "[null]"), "-1");
  EXPECT_EQ(call("cron.nextDelay", "[5]"), "-1");
  EXPECT_NE(call("cron.nextDelay", R"(["soon"])").find("not a cron expression"), std::string::npos);
}

// Every function with every kind of operand in every position, up to three: a result or an error.
TEST(Refusals, no_function_breaks_on_any_operand) {
  const json::value kinds = json_of(
      R"([null, true, -1, 2.5, 1e308, "", "text", "2024-01-01", "😀é", [], [1, "a", null, [2]], {},
      {"a": 1, "length": 2}, "{@symbol.NaN}", "{@symbol.negInfinity}", "{@symbol.undefined}"])");
  const json::array& all = kinds.get_array();
  Random random(1);
  Data data;
  data.now = test_now;
  data.random = &random;
  std::size_t answered = 0;
  for (const Function& function : all_functions()) {
    for (std::size_t count = std::max<std::size_t>(1, function.count_min); count <= 3 && count <= function.count_max;
         ++count) {
      std::size_t combinations = 1;
      for (std::size_t i = 0; i < count; ++i) combinations *= all.size();
      for (std::size_t n = 0; n < combinations; n += 1 + combinations / 400) {
        json::array cells;
        for (std::size_t i = 0, rest = n; i < count; ++i, rest /= all.size()) cells.push_back(all[rest % all.size()]);
        const CompileResult compiled = compile(
            json::object{{"@pipe", {cells, json::array{json::value("{@" + std::string(function.name) + "}")}}}});
        ASSERT_TRUE(compiled.expression) << function.name << describe(compiled.mistakes);
        Budget budget;
        const auto result = compiled.expression->evaluate(data, budget);
        if (!result) continue;
        ++answered;
        EXPECT_TRUE(parse_json(json_text(*result))) << function.name << json_text(cells);
      }
    }
  }
  EXPECT_GT(answered, 20'000U);
}

}  // namespace
}  // namespace pawl::mapping
