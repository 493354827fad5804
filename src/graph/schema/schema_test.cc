#include "graph/schema/schema.h"

#include <gtest/gtest.h>

#include <boost/json.hpp>

#include "base/format.h"
#include "graph/limits.h"

namespace pawl::graph {
namespace {

namespace json = boost::json;

std::shared_ptr<const Schema> make(std::string_view text) {
  auto result = compile_schema(json::parse(json::string_view(text.data(), text.size())));
  EXPECT_TRUE(result.mistakes.empty()) << text << ": " << result.mistakes[0].message;
  return result.schema;
}

std::vector<Fault> faults(std::string_view schema, std::string_view value) {
  const auto made = make(schema);
  return made ? made->validate(json::parse(json::string_view(value.data(), value.size()))) : std::vector<Fault>{};
}

TEST(Schema, every_keyword_accepts_and_refuses) {
  struct Case {
    const char* schema;
    const char* good;  // JSON array of values that fit
    const char* bad;   // JSON array of values that do not
  };
  const Case cases[] = {
      {"true", "[1, null, {}]", "[]"},
      {"false", "[]", "[1, null, {}]"},
      {R"({"type":"null"})", "[null]", "[0, false]"},
      {R"({"type":"boolean"})", "[true]", "[0, null]"},
      {R"({"type":"integer"})", "[1, -1, 1.0, 18446744073709551615]", "[1.5, \"1\"]"},
      {R"({"type":"number"})", "[1, 1.5]", "[\"1\"]"},
      {R"({"type":"string"})", "[\"\"]", "[1]"},
      {R"({"type":"array"})", "[[]]", "[{}]"},
      {R"({"type":"object"})", "[{}]", "[[]]"},
      {R"({"type":["string","null"]})", "[\"a\", null]", "[1]"},
      {R"({"const":{"a":[1,2]}})", R"([{"a":[1,2]}, {"a":[1.0,2]}])", R"([{"a":[2,1]}, {}])"},
      {R"({"enum":[1,"a",null]})", "[1, 1.0, \"a\", null]", "[2, \"b\", true]"},
      {R"({"minimum":3})", "[3, 4, \"x\"]", "[2, 2.9]"},
      {R"({"maximum":3})", "[3, -4]", "[3.1]"},
      {R"({"exclusiveMinimum":3})", "[3.1]", "[3]"},
      {R"({"exclusiveMaximum":3})", "[2.9]", "[3]"},
      {R"({"maximum":9007199254740992})", "[9007199254740992]", "[9007199254740993]"},
      {R"({"multipleOf":0.1})", "[0.3, 1, 5.7]", "[0.35]"},
      {R"({"multipleOf":3})", "[9, 0, -3]", "[10]"},
      {R"({"minLength":2})", "[\"ab\", \"äö\"]", "[\"a\", \"ä\"]"},
      {R"({"maxLength":2})", "[\"ab\", \"äö\", 5]", "[\"abc\"]"},
      {R"({"pattern":"^a+$"})", "[\"aa\", 5]", "[\"ab\"]"},
      {R"({"pattern":"b"})", "[\"abc\"]", "[\"a\"]"},
      {R"({"format":"date"})", "[\"2024-02-29\"]", "[\"2023-02-29\", \"2024-13-01\", \"24-01-01\", \"2024-1-1\"]"},
      {R"({"format":"time"})", "[\"10:00:00Z\", \"10:00:00.5+01:00\"]", "[\"10:00:00\", \"25:00:00Z\"]"},
      {R"({"format":"date-time"})", "[\"2024-02-29T10:00:00Z\"]", "[\"2024-02-29\", \"2024-02-29 10:00:00Z\"]"},
      {R"({"format":"email"})", "[\"a@b.c\"]", "[\"a\", \"@b\", \"a@\", \"a@b@c\", \"a b@c\"]"},
      {R"({"format":"uuid"})", "[\"123e4567-e89b-12d3-a456-426614174000\"]",
       "[\"123\", \"123e4567-e89b-12d3-a456-42661417400g\"]"},
      {R"({"format":"uri"})", "[\"http://a/b\", \"urn:x\"]", "[\"a/b\", \":x\", \"ht tp://a\"]"},
      {R"({"format":"ipv4"})", "[\"127.0.0.1\"]", "[\"256.0.0.1\", \"1.2.3\", \"01.2.3.4\", \"1.2.3.4.5\"]"},
      {R"({"properties":{"a":{"type":"string"}}})", R"([{"a":"x"}, {}, {"b":1}, 5])", R"([{"a":1}])"},
      {R"({"required":["a"]})", R"([{"a":null}, 5])", "[{}]"},
      {R"({"properties":{"a":true},"additionalProperties":false})", R"([{"a":1}])", R"([{"b":1}])"},
      {R"({"additionalProperties":{"type":"string"}})", R"([{"a":"x"}])", R"([{"a":1}])"},
      {R"({"patternProperties":{"^n_":{"type":"number"}},"additionalProperties":false})", R"([{"n_a":1}])",
       R"([{"n_a":"x"}, {"x":1}])"},
      {R"({"propertyNames":{"maxLength":2}})", R"([{"ab":1}])", R"([{"abc":1}])"},
      {R"({"minProperties":1,"maxProperties":2})", R"([{"a":1}, {"a":1,"b":2}])", R"([{}, {"a":1,"b":2,"c":3}])"},
      {R"({"dependentRequired":{"card":["code"]}})", R"([{}, {"card":1,"code":2}])", R"([{"card":1}])"},
      {R"({"items":{"type":"number"}})", "[[1,2], []]", "[[1,\"a\"]]"},
      {R"({"prefixItems":[{"type":"string"}],"items":{"type":"number"}})", "[[\"a\",1], [\"a\"], []]",
       "[[1], [\"a\",\"b\"]]"},
      {R"({"contains":{"const":1}})", "[[0,1]]", "[[], [0]]"},
      {R"({"contains":{"const":1},"minContains":2,"maxContains":3})", "[[1,1], [1,1,1,0]]", "[[1], [1,1,1,1]]"},
      {R"({"contains":{"const":1},"minContains":0})", "[[]]", "[]"},
      {R"({"minItems":1,"maxItems":2})", "[[1], [1,2]]", "[[], [1,2,3]]"},
      {R"({"uniqueItems":true})", "[[1,2,\"1\"], [[1],[2]]]", "[[1,1.0], [{\"a\":1,\"b\":2},{\"b\":2,\"a\":1}]]"},
      {R"({"uniqueItems":false})", "[[1,1]]", "[]"},
      {R"({"allOf":[{"minimum":1},{"maximum":3}]})", "[2]", "[0, 4]"},
      {R"({"anyOf":[{"type":"string"},{"minimum":3}]})", "[\"a\", 3]", "[2]"},
      {R"({"oneOf":[{"minimum":1},{"minimum":3}]})", "[1, 2]", "[3, 0]"},
      {R"({"not":{"type":"string"}})", "[1]", "[\"a\"]"},
      {R"({"if":{"properties":{"k":{"const":1}}},"then":{"required":["a"]},"else":{"required":["b"]}})",
       R"([{"k":1,"a":1}, {"k":2,"b":1}])", R"([{"k":1}, {"k":2,"a":1}])"},
      {R"({"$defs":{"n":{"type":"number"}},"items":{"$ref":"#/$defs/n"}})", "[[1]]", "[[\"a\"]]"},
      {R"({"properties":{"next":{"$ref":"#"}},"additionalProperties":false})", R"([{"next":{"next":{}}}])",
       R"([{"next":{"x":1}}])"},
      {R"({"$defs":{"t":{"type":"object","properties":{"kids":{"items":{"$ref":"#/$defs/t"}}}}},"$ref":"#/$defs/t"})",
       R"([{"kids":[{"kids":[]}]}])", R"([{"kids":[{"kids":[1]}]}])"},
      {R"({"title":"t","description":"d","default":1,"example":1,"examples":[1],"deprecated":true,"readOnly":true,"writeOnly":true,"$comment":"c","$schema":"s","$id":"i","x-mine":1,"format":"int32"})",
       "[1, \"a\"]", "[]"},
  };
  for (const Case& one : cases) {
    const auto schema = make(one.schema);
    ASSERT_TRUE(schema) << one.schema;
    const json::value good = json::parse(one.good);
    const json::value bad = json::parse(one.bad);
    for (const auto& value : good.as_array())
      EXPECT_TRUE(schema->validate(value).empty()) << one.schema << " should take " << json::serialize(value);
    for (const auto& value : bad.as_array())
      EXPECT_FALSE(schema->validate(value).empty()) << one.schema << " should refuse " << json::serialize(value);
  }
}

TEST(Schema, faults_name_the_place_in_the_value) {
  EXPECT_EQ(
      faults(R"({"properties":{"a":{"items":{"type":"number"}}},"required":["b"]})", R"({"a":[1,"x",2,"y"]})"),
      (std::vector<Fault>{{"", "lacks 'b'"}, {"/a/1", "is string, not number"}, {"/a/3", "is string, not number"}}));
  EXPECT_EQ(faults(R"({"additionalProperties":false})", R"({"a/b":1})"),
            (std::vector<Fault>{{"/a~1b", "is not an allowed property"}}));
  EXPECT_EQ(faults(R"({"enum":["a","b"]})", "\"c\""), (std::vector<Fault>{{"", R"(is not one of "a", "b")"}}));
  EXPECT_EQ(faults(R"({"type":"integer"})", "1.5"), (std::vector<Fault>{{"", "is number, not integer"}}));
}

TEST(Schema, mistakes_in_a_schema_are_all_reported_with_their_place) {
  struct Case {
    const char* schema;
    const char* path;
    const char* suggestion;
  };
  const Case cases[] = {
      {"5", "", ""},
      {R"({"type":"strng"})", "/type", "string"},
      {R"({"type":5})", "/type", ""},
      {R"({"type":[]})", "/type", ""},
      {R"({"type":["string",5]})", "/type", ""},
      {R"({"enum":[]})", "/enum", ""},
      {R"({"enum":1})", "/enum", ""},
      {R"({"minimum":"1"})", "/minimum", ""},
      {R"({"multipleOf":0})", "/multipleOf", ""},
      {R"({"minLength":-1})", "/minLength", ""},
      {R"({"maxItems":1.5})", "/maxItems", ""},
      {R"({"pattern":"("})", "/pattern", ""},
      {R"x({"pattern":"(?=a)"})x", "/pattern", ""},
      {R"({"pattern":5})", "/pattern", ""},
      {R"({"format":"emial"})", "/format", "email"},
      {R"({"format":1})", "/format", ""},
      {R"({"properties":[]})", "/properties", ""},
      {R"({"properties":{"a":5}})", "/properties/a", ""},
      {R"({"patternProperties":{"(":true}})", "/patternProperties/(", ""},
      {R"({"required":"a"})", "/required", ""},
      {R"({"required":[1]})", "/required", ""},
      {R"({"dependentRequired":{"a":1}})", "/dependentRequired/a", ""},
      {R"({"items":[]})", "/items", ""},
      {R"({"prefixItems":{}})", "/prefixItems", ""},
      {R"({"uniqueItems":1})", "/uniqueItems", ""},
      {R"({"allOf":[]})", "/allOf", ""},
      {R"({"anyOf":[1]})", "/anyOf/0", ""},
      {R"({"$ref":5})", "/$ref", ""},
      {R"({"$ref":"#/$defs/x","$defs":{"y":true}})", "/$ref", ""},
      {R"({"$ref":"#/$defs/memer","$defs":{"member":true}})", "/$ref", "member"},
      {R"({"$ref":"other.json"})", "/$ref", ""},
      {R"({"$ref":"#"})", "", ""},
      {R"({"$defs":{"a":{"$ref":"#/$defs/b"},"b":{"$ref":"#/$defs/a"}}})", "", ""},
      {R"({"$defs":5})", "/$defs", ""},
      {R"({"$defs":{"a":{"type":"x"}}})", "/$defs/a/type", ""},
      {R"({"items":{"$defs":{}}})", "/items/$defs", ""},
      {R"({"propertes":{}})", "/propertes", "properties"},
      {R"({"$dynamicRef":"#a"})", "/$dynamicRef", ""},
  };
  for (const Case& one : cases) {
    const auto result = compile_schema(json::parse(one.schema));
    EXPECT_FALSE(result.schema) << one.schema;
    ASSERT_EQ(result.mistakes.size(), 1U) << one.schema;
    EXPECT_EQ(result.mistakes[0].path, one.path) << one.schema;
    EXPECT_EQ(result.mistakes[0].suggestion, one.suggestion) << one.schema;
  }
  EXPECT_EQ(compile_schema(json::parse(R"({"type":"x","minimum":"y","items":{"foo":1}})")).mistakes.size(), 3U);
}

TEST(Schema, validation_ends_whatever_the_schema_and_the_value) {
  // Every level doubles the work: 2^60 alternatives.
  const auto bomb = make(
      R"({"$defs":{"t":{"anyOf":[{"items":{"$ref":"#/$defs/t"},"minItems":1},{"items":{"$ref":"#/$defs/t"},"maxItems":1,"minItems":1}]}},"$ref":"#/$defs/t"})");
  json::value deep = json::array{};
  for (int i = 0; i < 60; ++i) deep = json::array{std::move(deep)};
  const auto found = bomb->validate(deep);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].message, "checking this value takes too many steps");

  const auto circle = make(R"({"allOf":[{"$ref":"#"}]})");
  EXPECT_EQ(circle->validate(1).at(0).message, "checking this value takes too many steps");
}

TEST(Schema, limits_hold_at_the_limit_and_break_one_above) {
  const auto pattern = [](std::size_t bytes) {
    return compile_schema(json::value{{"pattern", std::string(bytes, 'a')}}).mistakes.size();
  };
  EXPECT_EQ(pattern(schema_pattern_bytes_max), 0U);
  EXPECT_EQ(pattern(schema_pattern_bytes_max + 1), 1U);

  const auto wide = [](std::size_t rules) {  // the root is one
    json::array all;
    for (std::size_t i = 1; i < rules; ++i) all.push_back(true);
    return compile_schema(json::value{{"allOf", std::move(all)}}).mistakes.size();
  };
  EXPECT_EQ(wide(schema_nodes_max), 0U);
  EXPECT_EQ(wide(schema_nodes_max + 1), 1U);

  json::array wrong;
  for (std::size_t i = 0; i <= schema_faults_max; ++i) wrong.push_back("x");
  EXPECT_EQ(make(R"({"items":{"type":"number"}})")->validate(wrong).size(), schema_faults_max);
}

}  // namespace
}  // namespace pawl::graph
