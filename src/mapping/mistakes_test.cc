// Every mistake that compile() reports: where, what, and what was probably meant.
#include "mapping/test_support.h"

namespace pawl::mapping {
namespace {

std::string mistakes_of(std::string_view source, const CompileOptions& options = {}) {
  const CompileResult compiled = compile(json_of(source), options);
  EXPECT_EQ(compiled.expression.has_value(), compiled.mistakes.empty());
  return describe(compiled.mistakes);
}

TEST(Mistakes, all_are_reported_at_once) {
  EXPECT_EQ(mistakes_of(R"({"a": "{$slef.input.data}", "b": ["{@math.ad}"], "c": {"@pipe": []}})"),
            "[/a] there is no scope $slef -> {$self.input.data}\n"
            "[/b/0] there is no function math.ad -> {@math.add}\n"
            "[/c/@pipe] wants a list of rows\n");
}

TEST(Mistakes, a_wrong_part_of_a_reference_is_named) {
  EXPECT_EQ(mistakes_of(R"("{act.outptu.data.x}")"),
            "[] \"outptu\" is not one of input, output, hook -> {act.output.data.x}\n");
  EXPECT_EQ(mistakes_of(R"("{act.output.dat.x}")"), "[] \"dat\" is not one of data, metadata -> {act.output.data.x}\n");
  EXPECT_EQ(mistakes_of(R"("{$job.x}")"), "[] \"x\" is not one of data, metadata\n");
  EXPECT_EQ(mistakes_of(R"("{$item}")"), "[] $item exists only inside @reduce\n");
}

TEST(Mistakes, braces_around_something_else_are_explained) {
  EXPECT_EQ(mistakes_of(R"("{\"a\":1}")"),
            "[] this is not a reference; a literal string in braces has them doubled -> {{\"a\":1}}\n");
  EXPECT_EQ(mistakes_of(R"("{}")"),
            "[] a reference has no space inside its braces; a literal has its braces doubled -> {{}}\n");
  EXPECT_EQ(mistakes_of(R"("{ a.output.data }")"),
            "[] a reference has no space inside its braces; a literal has its braces doubled -> "
            "{a.output.data}\n");
  EXPECT_EQ(mistakes_of(R"("{a..b}")"),
            "[] this is not a reference; a literal string in braces has them doubled -> {{a..b}}\n");
}

TEST(Mistakes, a_wrong_number_of_operands_is_found_before_anything_runs) {
  EXPECT_EQ(mistakes_of(R"({"@pipe": [["a"], ["{@string.replace}"]]})"),
            "[/@pipe/1/0] string.replace wants 3 operands, the row before gives 1\n");
  EXPECT_EQ(mistakes_of(R"({"@pipe": [["a", 1, 2, 3], ["{@string.slice}"]]})"),
            "[/@pipe/1/0] string.slice wants 1 to 3 operands, the row before gives 4\n");
  EXPECT_EQ(mistakes_of(R"({"@pipe": [[{"a": 1}], ["{@array.push}"]]})"),
            "[/@pipe/1/0] array.push wants 2 or more operands, the row before gives 1\n");
  EXPECT_EQ(mistakes_of(R"("{@math.abs}")"),
            "[] math.abs wants operands: name it first in a row, with its operands in the row before\n");
  EXPECT_EQ(mistakes_of(R"({"@pipe": [{"@pipe": [[1]]}, {"@pipe": [[2]]}, ["{@math.abs}"]]})"),
            "[/@pipe/2/0] math.abs wants 1 operands, the row before gives 2\n");
}

TEST(Mistakes, rows_have_a_shape) {
  EXPECT_EQ(mistakes_of(R"({"@pipe": [[1], [2]]})"),
            "[/@pipe/1/0] a row after the first begins with a function, such as {@math.add}\n");
  EXPECT_EQ(mistakes_of(R"({"@pipe": [[1], ["@math.abs"]]})"),
            "[/@pipe/1/0] a row after the first begins with a function, such as {@math.add} -> "
            "{@math.abs}\n");
  EXPECT_EQ(mistakes_of(R"({"@pipe": [[1], ["{$job.data}"]]})"),
            "[/@pipe/1/0] a row after the first begins with a function, such as {@math.add}\n");
  EXPECT_EQ(mistakes_of(R"({"@pipe": [1, []]})"),
            "[/@pipe/0] a row is a list of cells, an @pipe or a @reduce\n"
            "[/@pipe/1] a row wants at least one cell\n"
            "[/@pipe] nested pipes alone give no result: end with a row that uses theirs\n");
  EXPECT_EQ(mistakes_of(R"({"@pipe": [{"@pipe": [[1]]}]})"),
            "[/@pipe] nested pipes alone give no result: end with a row that uses theirs\n");
  EXPECT_EQ(mistakes_of(R"({"@pipe": [[1], {"@pipe": [[2]]}]})"),
            "[/@pipe] the last nested @pipe has no row after it that uses its result\n");
  EXPECT_EQ(mistakes_of(R"({"@pipe": [[1]], "x": 2})"), "[/x] a key beside @pipe is never read\n");
  EXPECT_EQ(mistakes_of(R"({"@pipe": "x"})"), "[/@pipe] wants a list of rows\n");
}

TEST(Mistakes, reduce_has_its_place) {
  EXPECT_EQ(mistakes_of(R"({"@reduce": [["{@math.add}"]]})"),
            "[] @reduce is a row of an @pipe, after the row [collection, initial]\n");
  EXPECT_EQ(mistakes_of(R"({"@pipe": [{"@reduce": [["{@math.add}"]]}]})"),
            "[/@pipe/0/@reduce] @reduce wants the row before it to be [collection, initial]\n");
  EXPECT_EQ(mistakes_of(R"({"@pipe": [[1, 2, 3], {"@reduce": [["{@math.add}"]]}]})"),
            "[/@pipe/1/@reduce] @reduce wants the row before it to be [collection, initial]\n");
}

TEST(Mistakes, a_source_has_limits) {
  boost::json::value nested = boost::json::array();
  for (int i = 0; i < 80; ++i) nested = boost::json::array{std::move(nested)};
  EXPECT_NE(describe(compile(nested).mistakes).find("nests at most 64 deep"), std::string::npos);
  boost::json::array wide;
  wide.resize(60'000);
  EXPECT_EQ(describe(compile(wide).mistakes), "[/49999] an expression has at most 50000 values\n");
  EXPECT_NE(mistakes_of("\"{a." + std::string(2000, 'x') + "}\"").find("at most 1024"), std::string::npos);
  std::string many = "\"{a.output.data";
  for (int i = 0; i < 70; ++i) many += ".x";
  EXPECT_NE(mistakes_of(many + "}\"").find("at most 64 names"), std::string::npos);
  boost::json::array wrong(500, "{$x}");
  EXPECT_EQ(compile(wrong).mistakes.size(), 100U);
}

}  // namespace
}  // namespace pawl::mapping
