// References, literals, maps, pipes and reduce, each rule of docs/MAPPING.md by an example.
#include "mapping/test_support.h"

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>

namespace pawl::mapping {
namespace {

namespace json = boost::json;

constexpr std::string_view data = R"({
  "$self": {"input": {"data": {"n": 3, "list": [10, 20, {"deep": "yes"}]}, "metadata": {"aid": "me"}},
            "output": {"data": "out"}, "hook": {"data": {"signal": 1}}},
  "$job": {"data": {"name": "tango", "slash": "/tango", "empty": "", "braces": "{x}", "none": null},
           "metadata": {"jid": "job-1"}},
  "$hook": {"data": {"key": "k"}},
  "$app": {"id": "shop"},
  "$graph": {"topic": "order"},
  "first": {"output": {"data": {"items": [{"id": 1}, {"id": 2}], "length": "own"}, "metadata": {"ac": "x"}}}
})";

std::string eval(std::string_view source, const CompileOptions& options = {}) {
  return evaluate_text(source, data, options);
}

TEST(Reference, every_scope_resolves) {
  EXPECT_EQ(eval(R"("{first.output.data.items.1.id}")"), "2");
  EXPECT_EQ(eval(R"("{first.output.metadata.ac}")"), "\"x\"");
  EXPECT_EQ(eval(R"("{$self.input.data.n}")"), "3");
  EXPECT_EQ(eval(R"("{$self.input.metadata.aid}")"), "\"me\"");
  EXPECT_EQ(eval(R"("{$self.output.data}")"), "\"out\"");
  EXPECT_EQ(eval(R"("{$self.hook.data.signal}")"), "1");
  EXPECT_EQ(eval(R"("{$job.data.name}")"), "\"tango\"");
  EXPECT_EQ(eval(R"("{$job.metadata.jid}")"), "\"job-1\"");
  EXPECT_EQ(eval(R"("{$hook.data.key}")"), "\"k\"");
  EXPECT_EQ(eval(R"("{$app.id}")"), "\"shop\"");
  EXPECT_EQ(eval(R"("{$graph.topic}")"), "\"order\"");
}

TEST(Reference, a_whole_object_is_seen_whole) {
  EXPECT_EQ(eval(R"("{first.output}")"),
            R"({"data":{"items":[{"id":1},{"id":2}],"length":"own"},"metadata":{"ac":"x"}})");
  EXPECT_EQ(eval(R"("{$self}")"), R"({"input":{"data":{"n":3,"list":[10,20,{"deep":"yes"}]},"metadata":{"aid":"me"}},)"
                                  R"("output":{"data":"out"},"hook":{"data":{"signal":1}}})");
  EXPECT_EQ(eval(R"("{$hook}")"), R"({"data":{"key":"k"}})");
  EXPECT_EQ(eval(R"("{$app}")"), R"({"id":"shop"})");
}

TEST(Reference, arrays_take_indexes_and_length) {
  EXPECT_EQ(eval(R"("{$self.input.data.list.0}")"), "10");
  EXPECT_EQ(eval(R"("{$self.input.data.list.2.deep}")"), "\"yes\"");
  EXPECT_EQ(eval(R"("{$self.input.data.list.length}")"), "3");
  EXPECT_EQ(eval(R"("{first.output.data.length}")"), "\"own\"");
  for (const char* wrong : {"3", "-1", "01", "1.5", "x", "99999999999999999999"})
    EXPECT_EQ(eval("\"{$self.input.data.list." + std::string(wrong) + "}\""), "null") << wrong;
}

TEST(Reference, what_is_missing_is_null_or_left_out) {
  EXPECT_EQ(eval(R"("{first.output.data.no.such.thing}")"), "null");
  EXPECT_EQ(eval(R"("{stranger.output.data}")"), "null");
  EXPECT_EQ(eval(R"({"a": "{first.output.data.no}", "b": "{$job.data.none}"})"), R"({"b":null})");
  EXPECT_EQ(eval(R"(["{first.output.data.no}", 1])"), "[null,1]");
}

TEST(Literal, strings_are_never_interpreted_again) {
  EXPECT_EQ(eval(R"("/tango")"), "\"/tango\"");
  EXPECT_EQ(eval(R"("")"), "\"\"");
  EXPECT_EQ(eval(R"("Hello {{name}}!")"), "\"Hello {name}!\"");
  EXPECT_EQ(eval(R"("Hello {name}!")", {.compat_hotmesh = true}), "\"Hello {name}!\"");
  EXPECT_EQ(eval(R"(["{$job.data.slash}", "{$job.data.empty}", "{$job.data.braces}"])"), R"(["/tango","","{x}"])");
  EXPECT_EQ(eval(R"({"@pipe": [["{$job.data.braces}", ""], ["{@string.concat}"]]})"), "\"{x}\"");
}

TEST(Literal, doubled_braces_are_single_ones) {
  EXPECT_EQ(eval(R"("{{x}}")"), "\"{x}\"");
  EXPECT_EQ(eval(R"("{{{x}}}")"), "\"{{x}}\"");
  EXPECT_EQ(eval(R"("{{}}")"), "\"{}\"");
  EXPECT_EQ(eval(R"("{")", {.compat_hotmesh = true}), "\"{\"");
  EXPECT_EQ(eval(R"("{{@math.add}}")"), "\"{@math.add}\"");
}

TEST(Literal, a_source_without_references_is_a_literal) {
  const CompileResult compiled = compile(json_of(R"({"a": [1, "{{b}}", null]})"));
  ASSERT_TRUE(compiled.expression);
  ASSERT_NE(compiled.expression->literal(), nullptr);
  EXPECT_EQ(json_text(*compiled.expression->literal()), R"({"a":[1,"{b}",null]})");
  EXPECT_EQ(compile(json_of(R"(["{$app}"])")).expression->literal(), nullptr);
}

TEST(Map, objects_and_arrays_keep_their_shape) {
  EXPECT_EQ(eval(R"({"x": {"y": ["{$self.input.data.n}", {"z": true}]}, "w": null})"),
            R"({"x":{"y":[3,{"z":true}]},"w":null})");
}

TEST(Pipe, a_row_applies_its_function_to_all_operands_before_it) {
  EXPECT_EQ(eval(R"({"@pipe": [[1, 2, 3], ["{@math.add}", 10, 20], ["{@math.max}"]]})"), "20");
  EXPECT_EQ(eval(R"({"@pipe": [["{@date.now}"], ["{@date.toISOString}"]]})"), "\"2024-02-29T13:05:09.007Z\"");
  EXPECT_EQ(eval(R"({"@pipe": [["only", "the first"]]})"), "\"only\"");
  EXPECT_EQ(eval(
                R"({"@pipe": [["a"], ["{@string.toUpperCase}", "{@symbol.whitespace}", "{$job.data.name}"],
                               ["{@string.concat}"]]})"),
            "\"A tango\"");
}

TEST(Pipe, nested_pipes_queue_their_results_for_the_next_row) {
  EXPECT_EQ(eval(
                R"({"@pipe": [{"@pipe": [[1, 2], ["{@math.add}"]]}, {"@pipe": [[3, 4], ["{@math.multiply}"]]},
                               ["{@math.subtract}"]]})"),
            "-9");
  // The operands of the row before are replaced by the queue.
  EXPECT_EQ(eval(R"({"@pipe": [[100, 200], {"@pipe": [[5]]}, ["{@math.add}", 1], ["{@math.add}"]]})"), "6");
}

TEST(Pipe, cells_are_expressions) {
  EXPECT_EQ(eval(R"({"@pipe": [[{"@pipe": [[1, 2], ["{@math.add}"]]}, 10], ["{@math.multiply}"]]})"), "30");
  EXPECT_EQ(eval(R"({"@pipe": [[{"a": "{$self.input.data.n}"}, "a"], ["{@object.get}"]]})"), "3");
  EXPECT_EQ(eval(R"("{@symbol.date}")"), "\"2024-02-29T13:05:09.007Z\"");
}

TEST(Reduce, runs_its_body_per_element) {
  EXPECT_EQ(eval(R"({"@pipe": [["{first.output.data.items}", 0],
                     {"@reduce": [["{$output}", "{$item.id}"], ["{@math.add}"]]}, ["{@math.add}", 1]]})"),
            "3");
  EXPECT_EQ(eval(R"({"@pipe": [[{"a": 1, "b": 2}, {}], {"@reduce": [
                     {"@pipe": [["{$output}"]]}, {"@pipe": [["{$item}", "_"], ["{@string.concat}", "_", "{$index}"],
                     ["{@string.concat}"]]}, {"@pipe": [["{$key}"]]}, ["{@object.set}"]]}]})"),
            R"({"1__0":"a","2__1":"b"})");
}

TEST(Reduce, the_body_starts_with_the_accumulator) {
  EXPECT_EQ(eval(R"({"@pipe": [[[1, 2, 3], 100], {"@reduce": [["{@math.add}", "{$item}"], ["{@math.add}"]]}]})"),
            "106");
}

TEST(Reduce, variables_are_those_of_the_innermost_reduce) {
  EXPECT_EQ(eval(R"({"@pipe": [[[[1, 2], [3]], []], {"@reduce": [
                     {"@pipe": [["{$output}"]]},
                     {"@pipe": [["{$item}", 0], {"@reduce": [["{$output}", "{$item}"], ["{@math.add}"]]}]},
                     ["{@array.push}"]]}]})"),
            "[3,3]");
  EXPECT_EQ(eval(
                R"({"@pipe": [[["a", "b"], ""], {"@reduce": [["{$output}", "{$key}", "{$input.length}", "{$item}"],
                     ["{@string.concat}"]]}]})"),
            "\"02a12b\"");
}

TEST(Reduce, nothing_to_reduce_gives_the_initial_value) {
  EXPECT_EQ(eval(R"({"@pipe": [["{$job.data.gone}", 7], {"@reduce": [["{@math.add}"]]}]})"), "7");
  EXPECT_EQ(eval(R"({"@pipe": [[[]], {"@reduce": [["{@math.add}"]]}]})"), "null");
  EXPECT_EQ(eval(R"({"@pipe": [["text", 7], {"@reduce": [["{@math.add}"]]}]})"),
            "error: invalid: /@pipe/1/@reduce: @reduce wants an array or an object, got a string");
}

// Checked by a budget that n * n copies would exceed.
TEST(Reduce, building_a_long_list_is_linear) {
  json::array numbers;
  for (int i = 0; i < 50'000; ++i) numbers.emplace_back(i);
  const CompileResult compiled = compile(
      json_of(R"({"@pipe": [["{$job.data}", []], {"@reduce": [["{$output}", "{$item}"], ["{@array.push}"]]}]})"));
  ASSERT_TRUE(compiled.expression);
  const json::value job = numbers;
  Data view;
  view.job_data = &job;
  Budget budget;
  const auto result = compiled.expression->evaluate(view, budget);
  ASSERT_TRUE(result) << to_string(result.error());
  EXPECT_EQ(*result, job);
}

TEST(Expression, references_are_listed_with_their_places) {
  const CompileResult compiled = compile(json_of(
      R"({"a/b": "{first.output.data.x}", "c": {"@pipe": [["{$job.data}", "{first.output.data.x}"],
                  ["{@object.get}"]]}})"));
  ASSERT_TRUE(compiled.expression);
  const std::vector<Reference> expected = {
      {"/a~1b", Scope::activity, "first", {"output", "data", "x"}},
      {"/c/@pipe/0/0", Scope::job, "", {"data"}},
      {"/c/@pipe/0/1", Scope::activity, "first", {"output", "data", "x"}},
  };
  EXPECT_EQ(compiled.expression->references(), expected);
}

TEST(Expression, numbers_that_json_cannot_hold_are_null) {
  EXPECT_EQ(eval(R"(["{@symbol.NaN}", "{@symbol.posInfinity}", "{@symbol.undefined}"])"), "[null,null,null]");
  EXPECT_EQ(eval(R"({"@pipe": [[0, 0], ["{@math.divide}"], ["{@number.isNaN}"]]})"), "true");
  EXPECT_EQ(eval(R"({"@pipe": [[0], ["{@unary.negative}"]]})"), "0");
}

TEST(Expression, large_integers_survive_untouched) {
  EXPECT_EQ(evaluate_text(R"("{$job.data}")", R"({"$job": {"data": [9007199254740993, 18446744073709551615]}})"),
            "[9007199254740993,18446744073709551615]");
}

TEST(Expression, randomness_comes_from_the_data) {
  const std::string first = eval(R"(["{@math.random}", "{@math.random}"])");
  EXPECT_EQ(first, eval(R"(["{@math.random}", "{@math.random}"])"));
  const json::value pair = json_of(first);
  EXPECT_NE(pair.at(0), pair.at(1));
  const CompileResult compiled = compile(json_of(R"("{@math.random}")"));
  Budget budget;
  EXPECT_EQ(compiled.expression->evaluate({}, budget).error().code, ErrorCode::unsupported);
}

}  // namespace
}  // namespace pawl::mapping
