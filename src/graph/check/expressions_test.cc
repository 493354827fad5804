// What the check reports about expressions and texts: with line, column and what was probably meant.
#include "base/format.h"
#include "graph/test_support.h"

namespace pawl::graph {
namespace {

// "G301 9:31 message -> suggestion", one line per mistake.
std::string told(const Checked& checked) {
  std::string out;
  for (const Mistake& mistake : checked.mistakes)
    out += format("{}{} {}:{} {}{}\n", mistake.severity == Severity::warning ? "w" : "", id_of(mistake.code),
                  mistake.mark.line, mistake.mark.column, mistake.message,
                  mistake.suggestion.empty() ? "" : " -> " + mistake.suggestion);
  return out;
}

// The text is on line 9, its quote in column 31.
std::string told_of(std::string_view text, std::string_view app_keys = "") {
  return told(
      check_graph(format("activities:\n  said: {{type: trigger}}\n  work: {{type: worker, topic: w, input: {{maps: "
                         "{{x:\n                        {}}}}}}}\ntransitions: {{said: [{{to: work}}]}}\n",
                         text),
                  app_keys));
}

TEST(Expressions, an_unclosed_brace_has_its_column) {
  EXPECT_EQ(told_of("\"Order {said.output.data.name\""),
            "G301 9:38 this { is never closed; a literal brace is doubled -> Order {said.output.data.name}\n");
  EXPECT_EQ(told_of("'{$job.data.x'"),
            "G301 9:31 this { is never closed; a literal brace is doubled -> {$job.data.x}\n");
}

TEST(Expressions, a_mistake_inside_an_expression_has_its_column) {
  EXPECT_EQ(told_of("\"{= $job.data.n + }\""), "G301 9:49 here a value is missing\n");
  EXPECT_EQ(told_of("\"é {= $job.data.n + }\""), "G301 9:51 here a value is missing\n");
  EXPECT_EQ(told_of("\"{= math.mul(2, 3) }\""), "G301 9:35 there is no function math.mul -> {@math.multiply}\n");
  EXPECT_EQ(told_of("\"a {= sad.output.data.n }\""), "G302 9:37 this graph has no activity 'sad' -> said\n");
  // After escapes the column is unknown; the message gives the position.
  EXPECT_EQ(told_of("\"\\x41 {= 1 + }\""), "G301 9:31 here a value is missing (at character 10)\n");
}

TEST(Expressions, text_that_was_meant_as_an_expression_is_a_warning) {
  EXPECT_EQ(told_of("\"$job.data.x\""), "wG307 9:31 this is text; an expression stands in braces -> {$job.data.x}\n");
  EXPECT_EQ(told_of("\"{$job.data.x} + 1\""),
            "wG307 9:31 this joins texts; to compute, the whole stands in {= } -> {= $job.data.x + 1 }\n");
  EXPECT_EQ(told_of("\"{$job.data.x + 1}\""),
            "wG307 9:31 this names a key with spaces; an expression begins with = -> {= $job.data.x + 1 }\n");
  EXPECT_EQ(told_of("\"{$job.data.x} + 1\"", "compat: hotmesh"), "");
}

constexpr std::string_view closed =
    "{type: object, additionalProperties: false, properties: {total: {type: number}, "
    "who: {type: object, additionalProperties: false, properties: {name: {}}}, "
    "list: {type: array, items: {type: object, additionalProperties: false, "
    "properties: {id: {}}}}}}";

std::string told_of_schema(std::string_view reference, std::string_view app_keys = "") {
  return told(check_graph(
      format("input: {{schema: {}}}\nactivities:\n  said: {{type: trigger}}\n  work: {{type: worker, topic: w, "
             "input: {{maps: {{x:\n                        \"{}\"}}}}}}\ntransitions: {{said: [{{to: work}}]}}\n",
             closed, reference),
      app_keys));
}

TEST(SchemaFields, a_closed_schema_has_no_other_field) {
  EXPECT_EQ(told_of_schema("{said.output.data.total}"), "");
  EXPECT_EQ(told_of_schema("{said.output.data}"), "");
  EXPECT_EQ(told_of_schema("{said.output.data.list.0.id}"), "");
  EXPECT_EQ(told_of_schema("{said.output.data.totl}"),
            "G306 10:31 the graph's input.schema has no field 'totl'; it has list, total or who -> total\n");
  EXPECT_EQ(told_of_schema("{= said.output.data.total * said.output.data.who.nmae }"),
            "G306 10:60 the graph's input.schema has no field 'nmae'; it has name -> name\n");
  EXPECT_EQ(told_of_schema("{said.output.data.list.0.it}"),
            "G306 10:31 the graph's input.schema has no field 'it'; it has id -> id\n");
  EXPECT_EQ(told_of_schema("{said.output.data.totl}", "compat: hotmesh"), "");
}

std::string told_of_work(std::string_view schema, std::string_view job, std::string_view transitions) {
  return told(check_graph(format(
      "activities:\n  said: {{type: trigger}}\n  work: {{type: worker, topic: w, output: {{schema: {}}}, job: {}}}\n"
      "  next: {{type: hook, output: {{maps: {{x: \"{{work.output.data.b}}\"}}}}}}\n"
      "transitions: {{said: [{{to: work}}], work: [{}]}}\n",
      schema, job, transitions)));
}

TEST(SchemaFields, an_error_has_no_schema) {
  constexpr std::string_view schema = "{type: object, additionalProperties: false, properties: {a: {}}}";
  EXPECT_EQ(told_of_work(schema, "{}", "{to: next}"), "G306 9:47 output.schema of 'work' has no field 'b'; it has a\n");
  EXPECT_EQ(told_of_work(schema, "{}", "{to: next, conditions: {code: error}}"), "");
  EXPECT_EQ(told_of_work(schema, "{}", "{to: next, conditions: {code: 422}}"), "");
  EXPECT_EQ(told_of_work(schema, "{422: {maps: {x: \"{$self.output.data.c}\"}}}", "{to: next}"), "");
  EXPECT_EQ(told_of_work("{type: object, properties: {a: {}}}", "{}", "{to: next}"), "");
  EXPECT_EQ(told_of_work("{additionalProperties: false, patternProperties: {\"^b\": {}}}", "{}", "{to: next}"), "");
}

TEST(SchemaFields, type_any_warns_once) {
  EXPECT_EQ(told(check_graph("input: {schema: {type: any}}\noutput: {schema: {properties: {a: {type: any}}}}\n"
                             "activities: {said: {type: trigger}}\n")),
            "wG403 6:30 JSON Schema has no type 'any'; every type is taken, as without 'type'\n");
}

}  // namespace
}  // namespace pawl::graph
