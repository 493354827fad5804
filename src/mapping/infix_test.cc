// Infix expressions, texts with holes, and arithmetic on missing values.
#include "mapping/test_support.h"

namespace pawl::mapping {
namespace {

constexpr std::string_view data = R"({
  "$job": {"data": {"n": 3, "half": 0.5, "name": "Ann", "none": null, "list": [1, {"a": 2}], "yes": true},
           "metadata": {"jid": "job-1"}},
  "my-step": {"output": {"data": {"x": 7}}},
  "pay": {"output": {"data": {"sum": 20, "items": [{"price": 10}, {"price": 32}]}}}
})";

constexpr CompileOptions original = {.compat_hotmesh = true};

// The value of a text, written without its JSON quotes.
std::string eval(std::string_view text, const CompileOptions& options = {}) {
  return evaluate_value(boost::json::value(text), json_of(data), options);
}

std::string doubts_of(std::string_view text, const CompileOptions& options = {}) {
  return describe(compile(boost::json::value(text), options).doubts);
}

TEST(Infix, arithmetic) {
  EXPECT_EQ(eval("{= 1 + 2 * 3 }"), "7");
  EXPECT_EQ(eval("{=(1 + 2) * 3}"), "9");
  EXPECT_EQ(eval("{= 10 - 2 - 3 }"), "5");
  EXPECT_EQ(eval("{= 7 % 4 + 7 / 2 }"), "6.5");
  EXPECT_EQ(eval("{= -7 % 4 }"), "-3");
  EXPECT_EQ(eval("{= --2 - -1.5e1 }"), "17");
  EXPECT_EQ(eval("{= -$job.data.n }"), "-3");
  EXPECT_EQ(eval("{= $job.data.n + 1 }"), "4");
  EXPECT_EQ(eval("{= pay.output.data.items.1.price * $job.data.half }"), "16");
  EXPECT_EQ(eval("{= {my-step.output.data.x} - 1 }"), "6");
  EXPECT_EQ(eval("{= 9007199254740993 + 1 }"), "9007199254740994");  // larger than a double can hold exactly
  EXPECT_EQ(eval("{= 9223372036854775807 + 1 }"), "9223372036854776000");
}

TEST(Infix, comparison_and_logic) {
  EXPECT_EQ(eval("{= $job.data.n * 2 > 5 && $job.data.name == 'Ann' }"), "true");
  EXPECT_EQ(eval("{= 1 < 2 == true }"), "true");
  EXPECT_EQ(eval("{= 'a' < 'b' }"), "true");
  EXPECT_EQ(eval("{= 2 >= 2 && 2 <= 2 && 3 != 2 }"), "true");
  EXPECT_EQ(eval("{= !$job.data.yes || !true }"), "false");
  EXPECT_EQ(eval("{= '1' == 1 }"), "false");
  EXPECT_EQ(eval("{= $job.data.list == $job.data.list }"), "true");
  EXPECT_EQ(eval("{= $job.data.nothing == null }"), "true");
  EXPECT_EQ(eval("{= $job.data.none == null }"), "true");
  EXPECT_EQ(eval("{= false || 'other' }"), "\"other\"");
  EXPECT_EQ(eval("{= 0 && 'other' }"), "0");
  EXPECT_EQ(eval("{= 1 > 2 ? 'a' : 2 > 1 ? 'b' : 'c' }"), "\"b\"");
}

TEST(Infix, only_what_is_needed_is_evaluated) {
  EXPECT_EQ(eval("{= $job.data.nothing == null ? 1 : $job.data.nothing + 1 }"), "1");
  EXPECT_EQ(eval("{= $job.data.nothing != null && $job.data.nothing > 3 }"), "false");
  EXPECT_EQ(eval("{= $job.data.yes || $job.data.nothing + 1 }"), "true");
  EXPECT_EQ(eval("{= ($job.data.nothing ?? 0) + 1 }"), "1");
  EXPECT_EQ(eval("{= $job.data.none ?? $job.data.nothing ?? 'last' }"), "\"last\"");
  EXPECT_EQ(eval("{= 0 ?? 1 }"), "0");
}

TEST(Infix, text_and_calls) {
  EXPECT_EQ(eval("{= 'Order ' + $job.data.n }"), "\"Order 3\"");
  EXPECT_EQ(eval(R"({= "it's" + '\n\\\"' })"), R"("it's\n\\\"")");
  EXPECT_EQ(eval("{= '}' + '{' }"), "\"}{\"");
  EXPECT_EQ(eval("{= math.max($job.data.n, 2 * 4, array.length($job.data.list)) }"), "8");
  EXPECT_EQ(eval("{= @string.toUpperCase($job.data.name) }"), "\"ANN\"");
  EXPECT_EQ(eval("{= date.now() > 0 }"), "true");
  EXPECT_EQ(eval("{= string.concat() }"), "\"\"");
  EXPECT_EQ(eval("{= symbol.array() }"), "[]");
  EXPECT_EQ(eval("{= null }"), "null");
}

TEST(Infix, a_pipe_and_a_reduce_hold_it) {
  EXPECT_EQ(evaluate_text(R"({"@pipe": [["{= $job.data.n + 1 }", 2], ["{@math.multiply}"]]})", data), "8");
  EXPECT_EQ(evaluate_text(R"({"@pipe": [["{pay.output.data.items}", 0],
                             {"@reduce": [["{= $output + $item.price }", 0], ["{@array.concat}"]]}]})",
                          data)
                .substr(0, 5),
            "mista");
  EXPECT_EQ(evaluate_text(R"({"@pipe": [["{pay.output.data.items}", 0], {"@reduce": [["{$output}"],
                             {"@pipe": [["{= $output + $item.price }"]]}, ["{@unary.positive}"]]}]})",
                          data),
            "42");
  EXPECT_EQ(evaluate_text(R"({"@pipe": [["{pay.output.data.items}", ""], {"@reduce": [["{$output}"],
                             {"@pipe": [["{$output}{$item.price};"]]}, ["{@string.trim}"]]}]})",
                          data),
            "\"10;32;\"");
}

TEST(Infix, what_does_not_fit_is_refused) {
  EXPECT_EQ(eval("{= $job.data.name - 1 }"), "error: invalid: -: wants two numbers, got a string and a number");
  EXPECT_EQ(eval("{= 1 / 0 }"), "error: invalid: /: divides by 0");
  EXPECT_EQ(eval("{= 1 % 0 }"), "error: invalid: %: divides by 0");
  EXPECT_EQ(eval("{= 1e308 * 10 }"), "error: invalid: *: the result is too large for a number");
  EXPECT_EQ(eval("{= $job.data.none + 1 }"), "error: invalid: +: wants two numbers, or a text, got null and a number");
  EXPECT_EQ(eval("{= 'a' < 1 }"), "error: invalid: <: wants two numbers or two texts, got a string and a number");
  EXPECT_EQ(eval("{= -$job.data.name }"), "error: invalid: -: wants a number as operand 1, got a string");
}

TEST(Infix, mistakes_have_a_place) {
  EXPECT_EQ(eval("{= 1 + }"), "mistakes: [@7] here a value is missing\n");
  EXPECT_EQ(eval("{= 1 + * 2 }"), "mistakes: [@7] before * a value is missing\n");
  EXPECT_EQ(eval("{= (1 + 2 }"), "mistakes: [@10] here ) is missing: a ( is open\n");
  EXPECT_EQ(eval("{= 1 2 }"), "mistakes: [@5] before 2 an operator is missing\n");
  EXPECT_EQ(eval("{= true and false }"), "mistakes: [@8] there is no operator and -> &&\n");
  EXPECT_EQ(eval("{= 1 === 1 }"), "mistakes: [@5] there is no operator === -> ==\n");
  EXPECT_EQ(eval("{= 1 = 1 }"), "mistakes: [@5] there is no operator = -> ==\n");
  EXPECT_EQ(eval("{= 1 < 2 < 3 }"), "mistakes: [@9] comparisons stand alone: join two of them with &&\n");
  EXPECT_EQ(eval("{= true ? 1 }"), "mistakes: [@12] here : is missing: a ? has a : behind it\n");
  EXPECT_EQ(eval("{= 'abc }"), "mistakes: [@3] the quotation that begins with ' has no end\n");
  EXPECT_EQ(eval("{= 12abc }"), "mistakes: [@3] \"12abc\" is not a number\n");
  EXPECT_EQ(eval("{= $jbo.data.n + 1 }"), "mistakes: [@3] there is no scope $jbo -> {$job.data.n}\n");
  EXPECT_EQ(eval("{= math.mul(2, 3) }"), "mistakes: [@3] there is no function math.mul -> {@math.multiply}\n");
  EXPECT_EQ(eval("{= math.abs() }"), "mistakes: [@3] math.abs wants 1 operands, here are 0\n");
  EXPECT_EQ(eval("{= }"), "mistakes: [@3] here a value is missing\n");
  EXPECT_EQ(eval("{= 1 ; 2 }"), "mistakes: [@5] ; has no meaning here\n");
  EXPECT_EQ(eval("{= 99999999999999999999999e999 }"),
            "mistakes: [@3] 99999999999999999999999e999 is too large or too small for a number\n");
}

TEST(Infix, has_limits) {
  std::string deep = "{= ";
  for (int i = 0; i < 100; ++i) deep += "(1 + ";
  deep += "1" + std::string(100, ')') + " }";
  EXPECT_NE(eval(deep).find("nests at most 64 deep"), std::string::npos);
  std::string prefixes = "{= " + std::string(3000, '!') + "1 }";
  EXPECT_NE(eval(prefixes).find("nests at most 64 deep"), std::string::npos);
  EXPECT_NE(eval("{= " + std::string(3000, '(')).find("never closed"), std::string::npos);
  EXPECT_NE(eval("{= " + std::string(3000, '(') + "}").find("nests at most 64 deep"), std::string::npos);
  EXPECT_NE(eval("{= '" + std::string(5000, 'x') + "' }").find("at most 4096 bytes"), std::string::npos);
  // A long sum is one pipe, not a deep one.
  std::string sum = "{= 0";
  for (int i = 0; i < 1000; ++i) sum += " + 1";
  EXPECT_EQ(eval(sum + " }"), "1000");
}

TEST(Infix, references_are_listed_with_their_places) {
  const CompileResult compiled = compile(boost::json::value("{= pay.output.data.sum } of {$job.metadata.jid}"));
  ASSERT_TRUE(compiled.expression);
  const std::vector<Reference> expected = {
      {"", Scope::activity, "pay", {"output", "data", "sum"}, 3},
      {"", Scope::job, "", {"metadata", "jid"}, 28},
  };
  EXPECT_EQ(compiled.expression->references(), expected);
}

TEST(Template, holes_become_text) {
  EXPECT_EQ(eval("Order {$job.metadata.jid} for {$job.data.name}"), "\"Order job-1 for Ann\"");
  EXPECT_EQ(eval("{$job.data.name}: {= $job.data.n * 2 } EUR"), "\"Ann: 6 EUR\"");
  EXPECT_EQ(eval("{$job.data.name}{$job.data.n}"), "\"Ann3\"");
  EXPECT_EQ(eval("{$job.data.none}|{$job.data.yes}|{$job.data.list}"), R"("|true|[1,{\"a\":2}]")");
  EXPECT_EQ(eval("today is {@date.yyyymmdd}").substr(0, 10), "\"today is ");
  EXPECT_EQ(eval("{$job.data.n}"), "3");  // alone, a hole keeps its type
  EXPECT_EQ(eval("{= $job.data.n }"), "3");
}

TEST(Template, braces_that_are_none_of_ours_stay) {
  EXPECT_EQ(eval("[0-9]{2,3}x{4}"), "\"[0-9]{2,3}x{4}\"");
  EXPECT_EQ(eval(R"([{"a":{"b":1}}])"), R"("[{\"a\":{\"b\":1}}]")");
  EXPECT_EQ(eval(R"(x {"a": {$job.data.n}})"), R"("x {\"a\": 3}")");
  EXPECT_EQ(eval("a } b }} c"), "\"a } b }} c\"");
  EXPECT_EQ(eval("set {x, y}"), "\"set {x, y}\"");
  EXPECT_EQ(eval("a {{b}} c"), "\"a {b} c\"");
  EXPECT_EQ(eval("{{a}} and {{b}}"), "\"{a} and {b}\"");
  EXPECT_EQ(eval("{{{$job.data.n}}} x"), "\"{3} x\"");
}

TEST(Template, mistakes_have_a_place) {
  EXPECT_EQ(eval("Order {$job.data.name"),
            "mistakes: [@6] this { is never closed; a literal brace is doubled -> Order {$job.data.name}\n");
  EXPECT_EQ(eval("{$job.data.n and {$job.data.name}"),
            "mistakes: [] this { is never closed; a literal brace is doubled -> {$job.data.n} and {$job.data.name}\n");
  EXPECT_EQ(eval("{"), "mistakes: [] this { is never closed; a literal brace is doubled\n");
  EXPECT_EQ(eval("{= 1 + 2"), "mistakes: [] this { is never closed; a literal brace is doubled -> {= 1 + 2}\n");
  EXPECT_EQ(eval("Hello { $job.data.name }!"),
            "mistakes: [@6] a reference has no space inside its braces; a literal has its braces doubled -> "
            "{$job.data.name}\n");
}

TEST(Template, a_missing_value_is_named) {
  EXPECT_EQ(eval("Order {$job.data.nothing}!"), "error: invalid: text: operand 2, $job.data.nothing, is missing");
}

TEST(Missing, arithmetic_names_what_is_missing) {
  EXPECT_EQ(evaluate_text(R"({"x": {"@pipe": [[1, "{$job.data.nothing}"], ["{@math.add}"]]}})", data),
            "error: invalid: /x/@pipe/1: math.add: operand 2, $job.data.nothing, is missing");
  EXPECT_EQ(evaluate_text(R"({"@pipe": [["{@symbol.undefined}"], ["{@math.abs}"]]})", data),
            "error: invalid: /@pipe/1: math.abs: operand 1 is missing");
  EXPECT_EQ(eval("{= $job.data.nothing + 1 }"), "error: invalid: +: operand 1, $job.data.nothing, is missing");
  EXPECT_EQ(eval("{= 2 > pay.output.data.no.thing }"),
            "error: invalid: >: operand 2, pay.output.data.no.thing, is missing");
  EXPECT_EQ(evaluate_text(R"({"@pipe": [["{$job.data.none}", 1], ["{@math.add}"]]})", data), "1");  // null is 0
}

TEST(Missing, the_original_goes_on_with_nothing) {
  EXPECT_EQ(evaluate_text(R"({"@pipe": [[1, "{$job.data.nothing}"], ["{@math.add}"]]})", data, original), "null");
}

TEST(Infix, the_original_knows_none_of_it) {
  EXPECT_EQ(eval("Order {$job.metadata.jid}", original), "\"Order {$job.metadata.jid}\"");
  EXPECT_EQ(eval("a {{b}} c", original), "\"a {{b}} c\"");
  EXPECT_EQ(eval("{= 1 + 2 }", original).substr(0, 8), "mistakes");
  EXPECT_EQ(doubts_of("$job.data.n", original), "");
}

TEST(Doubts, text_that_was_meant_as_an_expression) {
  EXPECT_EQ(doubts_of("$job.data.n"), "[] this is text; an expression stands in braces -> {$job.data.n}\n");
  EXPECT_EQ(doubts_of("pay.output.data.sum"),
            "[] this is text; an expression stands in braces -> {pay.output.data.sum}\n");
  EXPECT_EQ(doubts_of("$job.data.n + 1"), "[] this is text; an expression stands in braces -> {= $job.data.n + 1 }\n");
  EXPECT_EQ(doubts_of("{$job.data.n} + 1"),
            "[] this joins texts; to compute, the whole stands in {= } -> {= $job.data.n + 1 }\n");
  EXPECT_EQ(
      doubts_of("{my-step.output.data.x} > {$job.data.n}"),
      "[] this joins texts; to compute, the whole stands in {= } -> {= {my-step.output.data.x} > $job.data.n }\n");
  EXPECT_EQ(doubts_of("{$job.data.n + 1}"),
            "[] this names a key with spaces; an expression begins with = -> {= $job.data.n + 1 }\n");
  for (const char* fine : {"order.approved", "Order {$job.data.n}", "{pay.output.data.sum} of 100", "a.b.c", "$5",
                           "{$job.data.name} - {$job.data.n}", "{$job.data.n}-01", "{$job.data.n}/12", "2024-01-02",
                           "{= $job.data.n + 1 }", "3 + 4", "{$job.data.first name}", "{$job.data.n} %"})
    EXPECT_EQ(doubts_of(fine), "") << fine;
}

}  // namespace
}  // namespace pawl::mapping
