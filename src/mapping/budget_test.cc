// Hostile expressions end by their budget, quickly and with `over_limit`; deep values are refused.
#include "mapping/test_support.h"

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>

#include <ctime>

namespace pawl::mapping {
namespace {

namespace json = boost::json;

json::value many(std::size_t count) { return json::array(count, json::value(1)); }

constexpr std::string_view sum_of_all = R"({"@pipe": [["{$job.data}", 0], {"@reduce": [["{$output}", "{$item}"],
                                           ["{@math.add}"]]}]})";

struct Evaluated {
  std::string text;
  double cpu_ms = 0;
};

double cpu_ms() {
  timespec time{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) * 1e3 + static_cast<double>(time.tv_nsec) / 1e6;
}

Evaluated evaluate(std::string_view source, const json::value& job, Budget budget) {
  const CompileResult compiled = compile(json_of(source));
  EXPECT_TRUE(compiled.expression) << describe(compiled.mistakes);
  Data data;
  data.job_data = &job;
  const double before = cpu_ms();
  const auto result = compiled.expression->evaluate(data, budget);
  const double cost = cpu_ms() - before;
  return {result ? json_text(*result) : std::string(name_of(result.error().code)), cost};
}

// A hostile expression takes no longer than a few normal sums of 100,000 numbers, measured at the same time: an
// exponential or quadratic case would take thousands of them.
std::string outcome(std::string_view source, const json::value& job, Budget budget = Budget()) {
  constexpr double honest_sums_max = 30;
  static const json::value numbers = many(100'000);
  const Evaluated hostile = evaluate(source, job, budget);
  const Evaluated honest = evaluate(sum_of_all, numbers, Budget());
  EXPECT_LT(hostile.cpu_ms, honest.cpu_ms * honest_sums_max) << source;
  return hostile.text;
}

TEST(Budget, refuses_for_ever_once_it_refused) {
  Budget budget({.steps = 2, .bytes = 10});
  EXPECT_TRUE(budget.spend_steps(2));
  EXPECT_TRUE(budget.spend_bytes(10));
  EXPECT_FALSE(budget.spend_steps(1));
  EXPECT_FALSE(budget.spend_bytes(0));
  EXPECT_TRUE(budget.exhausted());
}

TEST(Budget, stops_text_that_doubles) {
  EXPECT_EQ(outcome(R"({"@pipe": [["{$job.data}", "ab"], {"@reduce": [["{$output}", "{$output}"],
                       ["{@string.concat}"]]}]})",
                    many(64)),
            "over_limit");
}

TEST(Budget, stops_lists_that_double) {
  EXPECT_EQ(outcome(R"({"@pipe": [["{$job.data}", [1]], {"@reduce": [["{$output}", "{$output}"],
                       ["{@array.concat}"]]}]})",
                    many(64)),
            "over_limit");
}

TEST(Budget, stops_loops_within_loops) {
  EXPECT_EQ(outcome(
                R"({"@pipe": [["{$job.data}", 0], {"@reduce": [{"@pipe": [["{$input}", 0], {"@reduce": [
                       {"@pipe": [["{$input}", 0], {"@reduce": [["{@math.add}"]]}]}, ["{@math.add}"]]}]},
                       ["{@math.add}"]]}]})",
                many(1000)),
            "over_limit");
}

TEST(Budget, stops_huge_texts_before_they_are_made) {
  EXPECT_EQ(outcome(R"({"@pipe": [["ab", 1e15], ["{@string.repeat}"]]})", {}), "over_limit");
  EXPECT_EQ(outcome(R"({"@pipe": [["ab", 1e18, "xyz"], ["{@string.padEnd}"]]})", {}), "over_limit");
}

TEST(Budget, counts_copies_of_large_values) {
  json::array sources(3000, "{$job.data}");
  EXPECT_EQ(outcome(json_text(sources), many(10'000)), "over_limit");
}

TEST(Budget, is_charged_for_scanning) {
  const json::value text = json::string(1 << 20, 'a');
  const json::value look = json_of(R"({"@pipe": [["{$job.data}", "b"], ["{@string.includes}"]]})");
  EXPECT_EQ(outcome(json_text(json::array(10, look)), text).substr(0, 6), "[false");
  EXPECT_EQ(outcome(json_text(json::array(400, look)), text), "over_limit");
}

TEST(Budget, search_is_linear_in_hostile_text) {
  const json::value job = {std::string(1 << 20, 'a'), std::string(1 << 19, 'a') + "b"};
  for (const char* function : {"string.indexOf", "string.lastIndexOf"}) {
    const std::string call = "{@" + std::string(function) + "}";
    const json::value rows = {{"{$job.data.0}", "{$job.data.1}"}, json::array{json::value(call)}};
    EXPECT_EQ(outcome(json_text(json::object{{"@pipe", rows}}), job), "-1") << function;
  }
}

TEST(Budget, a_pattern_cannot_explode) {
  const json::value text = json::string(100'000, 'a');
  EXPECT_EQ(outcome(R"({"@pipe": [["{$job.data}", "(a+)+$b"], ["{@string.search}"]]})", text), "-1");
  const std::string long_pattern = json_text(json::value(std::string(5000, 'a')));
  EXPECT_EQ(outcome("{\"@pipe\": [[\"a\", " + long_pattern + "], [\"{@string.search}\"]]}", {}), "over_limit");
  EXPECT_EQ(outcome(R"({"@pipe": [["a", "(a{1000}){1000}"], ["{@string.search}"]]})", {}), "invalid");
}

// Without the depth limit the value's destructor would run out of stack.
TEST(Budget, values_cannot_nest_without_end) {
  EXPECT_EQ(outcome(R"({"@pipe": [["{$job.data}", 0], {"@reduce": [["{$key}", "{$output}"],
                       ["{@object.create}"]]}]})",
                    many(100'000)),
            "over_limit");
  EXPECT_EQ(outcome(
                R"({"@pipe": [["{$job.data}", 0], {"@reduce": [{"@pipe": [[[]]]}, {"@pipe": [["{$output}"]]},
                       ["{@array.push}"]]}]})",
                many(100'000)),
            "over_limit");
  EXPECT_EQ(outcome(R"({"@pipe": [["{$job.data}", 0], {"@reduce": [["{$item}", {"a": ["{$output}"]}],
                       ["{@logical.and}"]]}]})",
                    many(100'000)),
            "over_limit");
}

TEST(Budget, ordinary_work_fits_easily) { EXPECT_EQ(evaluate(sum_of_all, many(100'000), Budget()).text, "100000"); }

}  // namespace
}  // namespace pawl::mapping
