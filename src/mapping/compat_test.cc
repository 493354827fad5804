// Each place where compat_hotmesh changes the outcome: HotMesh's behaviour beside ours.
#include "mapping/test_support.h"

namespace pawl::mapping {
namespace {

constexpr CompileOptions original = {.compat_hotmesh = true};

std::string eval(std::string_view source, const CompileOptions& options = {}) {
  return evaluate_text(source, R"({"$job": {"data": {"n": 3}}})", options);
}
bool has_mistakes(std::string_view source) { return !compile(json_of(source)).mistakes.empty(); }

TEST(Compat, a_list_in_a_map_becomes_an_object_of_indexes) {
  EXPECT_EQ(eval(R"({"a": [1, "{$job.data.n}"]})"), R"({"a":[1,3]})");
  EXPECT_EQ(eval(R"({"a": [1, "{$job.data.n}"]})", original), R"({"a":{"0":1,"1":3}})");
}

TEST(Compat, objects_in_cells_stay_as_written) {
  constexpr std::string_view source = R"({"@pipe": [[{"@pipe": [["{$job.data.n}"]]}]]})";
  EXPECT_EQ(eval(source), "3");
  EXPECT_EQ(eval(source, original), R"({"@pipe":[["{$job.data.n}"]]})");
}

TEST(Compat, operands_too_many_are_ignored_and_too_few_are_missing) {
  constexpr std::string_view many = R"({"@pipe": [["a", "b"], ["{@string.toUpperCase}"]]})";
  constexpr std::string_view few = R"({"@pipe": [["a"], ["{@conditional.nullish}"]]})";
  EXPECT_TRUE(has_mistakes(many));
  EXPECT_EQ(eval(many, original), "\"A\"");
  EXPECT_TRUE(has_mistakes(few));
  EXPECT_EQ(eval(few, original), "\"a\"");
  EXPECT_EQ(eval(R"("{@math.abs}")", original), "null");
}

TEST(Compat, nested_rows_at_the_end_are_computed_and_dropped) {
  constexpr std::string_view source = R"({"@pipe": [[1], {"@pipe": [[2]]}]})";
  EXPECT_TRUE(has_mistakes(source));
  EXPECT_EQ(eval(source, original), "1");
}

TEST(Compat, keys_beside_a_pipe_are_ignored) { EXPECT_EQ(eval(R"({"@pipe": [[1]], "note": "x"})", original), "1"); }

TEST(Compat, names_that_do_not_exist_are_missing) {
  for (const char* source : {R"(["{act.result.data}"])", R"(["{$job.x}"])", R"(["{$item}"])"}) {
    EXPECT_TRUE(has_mistakes(source)) << source;
    EXPECT_EQ(eval(source, original), R"({})") << source;  // the list became an object, its key is left out
  }
}

TEST(Compat, unshift_gives_the_new_length) {
  constexpr std::string_view source = R"({"@pipe": [[[2], 1], ["{@array.unshift}"]]})";
  EXPECT_EQ(eval(source), "[1,2]");
  EXPECT_EQ(eval(source, original), "2");
}

TEST(Compat, sort_puts_letters_of_both_cases_together) {
  constexpr std::string_view source = R"({"@pipe": [[["b", "a", "B", "A", "_", "1"]], ["{@array.sort}"]]})";
  EXPECT_EQ(eval(source), R"(["1","A","B","_","a","b"])");
  EXPECT_EQ(eval(source, original), R"(["_","1","a","A","b","B"])");
}

TEST(Compat, cron_waits_at_least_five_seconds) {
  constexpr std::string_view source = R"({"@pipe": [["10 5 13 * * *"], ["{@cron.nextDelay}"]]})";
  EXPECT_EQ(eval(source), "1");
  EXPECT_EQ(eval(source, original), "5");
}

// Keys that are whole numbers come first, by size, wherever an object is iterated or returned.
TEST(Compat, whole_number_keys_stand_in_javascripts_order) {
  constexpr std::string_view data =
      R"({"$job": {"data": {"b": "x", "10": "ten", "2": "two", "a": "y", "01": "z", "4294967295": "w", "-1": "m"}}})";
  const auto both = [&](std::string_view source, std::string_view here, std::string_view there) {
    EXPECT_EQ(evaluate_text(source, data), here) << source;
    EXPECT_EQ(evaluate_text(source, data, original), there) << source;
  };
  both(R"({"@pipe": [["{$job.data}"], ["{@object.keys}"]]})", R"(["b","10","2","a","01","4294967295","-1"])",
       R"(["2","10","b","a","01","4294967295","-1"])");
  both(R"({"@pipe": [["{$job.data}"], ["{@object.values}"], ["{@array.get}"]]})", R"("x")", R"("two")");
  both(R"({"@pipe": [["{$job.data}"], ["{@object.entries}"], ["{@array.get}"]]})", R"(["b","x"])", R"(["2","two"])");
  both(R"({"@pipe": [["{$job.data}", ""], {"@reduce": [["{$output}", "{$item}"], ["{@string.concat}"]]}]})",
       R"("xtentwoyzwm")", R"("twotenxyzwm")");
  both(R"({"@pipe": [["k", 1, 3, 3, 1, 1], ["{@object.create}"], ["{@json.stringify}"]]})",
       R"("{\"k\":1,\"3\":3,\"1\":1}")", R"("{\"1\":1,\"3\":3,\"k\":1}")");
  both(R"({"b": 1, "1": {"z": 2, "0": "{$job.metadata.jid}"}, "0": 3})", R"({"b":1,"1":{"z":2},"0":3})",
       R"({"0":3,"1":{"z":2},"b":1})");
  both(R"({"b": 1, "0": 3})", R"({"b":1,"0":3})", R"({"0":3,"b":1})");
  both(R"({"@pipe": [["{\"b\":1,\"0\":[{\"x\":1,\"5\":2}]}~", "~", ""], ["{@string.replace}"], ["{@json.parse}"]]})",
       R"({"b":1,"0":[{"x":1,"5":2}]})", R"({"0":[{"5":2,"x":1}],"b":1})");
}

}  // namespace
}  // namespace pawl::mapping
