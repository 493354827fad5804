#include "graph/yaml.h"

#include <boost/json.hpp>

#include "graph/limits.h"
#include "graph/test_support.h"

namespace pawl::graph {
namespace {

struct Parsed {
  std::optional<Node> root;
  std::vector<Mistake> mistakes;
};

Parsed parse(std::string text) {
  Sources sources;
  sources.add("test.yaml", std::move(text));
  Mistakes mistakes;
  auto root = parse_yaml(sources, 0, mistakes);
  return {std::move(root), mistakes.take_sorted()};
}

std::string json_of(std::string text) {
  const Parsed parsed = parse(std::move(text));
  EXPECT_TRUE(parsed.mistakes.empty()) << parsed.mistakes[0].message;
  return parsed.root ? boost::json::serialize(to_json(*parsed.root)) : "nothing";
}

Code only_code(std::string text) {
  const Parsed parsed = parse(std::move(text));
  EXPECT_EQ(parsed.mistakes.size(), 1U);
  return parsed.mistakes.empty() ? Code::cannot_read : parsed.mistakes[0].code;
}

TEST(Yaml, scalars_follow_the_core_schema_of_yaml_1_2) {
  const std::pair<const char*, const char*> cases[] = {
      {"5", "5"},
      {"-5", "-5"},
      {"+5", "5"},
      {"007", "7"},
      {"0x1F", "31"},
      {"0o17", "15"},
      {"1.5", "1.5E0"},
      {".5", "5E-1"},
      {"1e3", "1E3"},
      {"9223372036854775807", "9223372036854775807"},
      {"9223372036854775808", "9.223372036854776E18"},
      {"1e-999", "0E0"},
      {"true", "true"},
      {"False", "false"},
      {"yes", "\"yes\""},
      {"~", "null"},
      {"null", "null"},
      {"", "null"},
      {"'5'", "\"5\""},
      {"\"true\"", "\"true\""},
      {"!!str 5", "\"5\""},
      {"!!int 5", "5"},
      {"!!float 5", "5E0"},
      {"1.2.3", "\"1.2.3\""},
      {"12:30", "\"12:30\""},
      {"2024-01-01", "\"2024-01-01\""},
      {"-", "[null]"},
      {"1_000", "\"1_000\""},
      {"0x", "\"0x\""},
      {"|\n  a\n  b\n", "\"a\\nb\\n\""},
  };
  for (const auto& [text, json] : cases) EXPECT_EQ(json_of(text), json) << text;
}

TEST(Yaml, values_without_a_json_form_are_mistakes) {
  for (const char* text : {".nan", ".inf", "-.inf", "1e999", "!!int x", "!mine 5", "!!binary aGk="})
    EXPECT_EQ(only_code(text), Code::bad_scalar) << text;
}

TEST(Yaml, every_key_and_value_knows_its_line_and_column) {
  const Parsed parsed = parse("a:\n  bä: [1, zwei]\n");
  const Entry& outer = parsed.root->entries.at(0);
  EXPECT_EQ(outer.mark, (Mark{0, 1, 1}));
  const Entry& inner = outer.value.entries.at(0);
  EXPECT_EQ(inner.mark, (Mark{0, 2, 3}));
  EXPECT_EQ(inner.value.items.at(1).mark, (Mark{0, 2, 11}));  // characters, not bytes
}

TEST(Yaml, aliases_and_merge_keys_are_written_out) {
  EXPECT_EQ(json_of("a: &x {k: 1}\nb: *x\n"), R"({"a":{"k":1},"b":{"k":1}})");
  EXPECT_EQ(json_of("a: &x {k: 1, l: 2}\nb: {<<: *x, k: 3}\n"), R"({"a":{"k":1,"l":2},"b":{"k":3,"l":2}})");
  EXPECT_EQ(json_of("a: &x {k: 1}\nb: &y {l: 2}\nc: {<<: [*x, *y]}\n"),
            R"({"a":{"k":1},"b":{"l":2},"c":{"k":1,"l":2}})");
  EXPECT_EQ(json_of("'<<': 1\n"), R"({"<<":1})");
}

TEST(Yaml, a_duplicate_key_names_the_first_one_and_parsing_goes_on) {
  const Parsed parsed = parse("a: 1\nb:\n  c: 1\n  c: 2\na: 3\n");
  ASSERT_EQ(parsed.mistakes.size(), 2U);
  EXPECT_EQ(parsed.mistakes[0].code, Code::duplicate_key);
  EXPECT_EQ(parsed.mistakes[0].path, "b.c");
  EXPECT_EQ(parsed.mistakes[0].message, "the key 'c' already stands on line 3");
  EXPECT_EQ(parsed.mistakes[1].mark, (Mark{0, 5, 1}));
}

TEST(Yaml, broken_text_is_refused_with_its_place) {
  const Parsed parsed = parse("a: [1,\nb: 2\n");
  EXPECT_FALSE(parsed.root);
  ASSERT_EQ(parsed.mistakes.size(), 1U);
  EXPECT_EQ(parsed.mistakes[0].code, Code::bad_yaml);
  EXPECT_GE(parsed.mistakes[0].mark.line, 1U);
  for (const char* text : {"a: *nobody", "\"open", "a: b: c", "\t- x", "{a: 1, [2]: 3}", "? [a]\n: b", "? \n: b"})
    EXPECT_EQ(only_code(text), Code::bad_yaml) << text;
  EXPECT_EQ(only_code(std::string("a: \0b", 5)), Code::bad_yaml);
  EXPECT_EQ(only_code("&a [*a]"), Code::bad_alias);
  EXPECT_EQ(only_code("a: 1\n---\nb: 2\n"), Code::many_documents);
}

TEST(Yaml, text_that_is_not_utf8_is_refused_at_the_byte) {
  for (const std::string& bytes : {std::string("\xff"), std::string("\xc0\x80"), std::string("\xed\xa0\x80"),
                                   std::string("\xf4\x90\x80\x80"), std::string("\xe2\x82")}) {
    const Parsed parsed = parse("a: 1\nb: " + bytes + "\n");
    EXPECT_FALSE(parsed.root);
    ASSERT_EQ(parsed.mistakes.size(), 1U);
    EXPECT_EQ(parsed.mistakes[0].code, Code::not_utf8);
    EXPECT_EQ(parsed.mistakes[0].mark, (Mark{0, 2, 4}));
  }
  EXPECT_EQ(json_of("a: \"€ 𝄞\""), "{\"a\":\"€ 𝄞\"}");
}

std::string nested(std::size_t depth) { return std::string(depth, '[') + std::string(depth, ']'); }

TEST(Yaml, limits_hold_at_the_limit_and_break_one_above) {
  EXPECT_TRUE(parse(nested(document_depth_max)).root);
  EXPECT_EQ(only_code(nested(document_depth_max + 1)), Code::too_deep);
  EXPECT_EQ(only_code(nested(flow_depth_max + 1)), Code::too_deep);

  const auto list = [](std::size_t nodes) {  // the list itself is one
    std::string out;
    for (std::size_t i = 1; i < nodes; ++i) out += "-\n";
    return out;
  };
  EXPECT_TRUE(parse(list(document_nodes_max)).root);
  EXPECT_EQ(only_code(list(document_nodes_max + 1)), Code::too_large);

  EXPECT_TRUE(parse(std::string(file_bytes_max, '#')).root);
  EXPECT_EQ(only_code(std::string(file_bytes_max + 1, '#')), Code::too_large);

  EXPECT_TRUE(parse(std::string(key_bytes_max, 'k') + ": 1").root);
  EXPECT_EQ(only_code(std::string(key_bytes_max + 1, 'k') + ": 1"), Code::too_large);
}

TEST(Yaml, a_tab_is_called_a_tab) {
  for (const char* text : {"app:\n  id: x\n\tversion: 1\n", "app:\n  id: x\n  graphs:\n\t- a\n"}) {
    const Parsed parsed = parse(text);
    ASSERT_EQ(parsed.mistakes.size(), 1U) << text;
    EXPECT_EQ(parsed.mistakes[0].message, "a tab; YAML indents with spaces only");
    EXPECT_EQ(parsed.mistakes[0].mark.column, 1U);
  }
  EXPECT_EQ(json_of("a: b\tc\nd: [1,\t2]\n"), R"({"a":"b\tc","d":[1,2]})");
  EXPECT_NE(parse("a: [1\nb: 2\n").mistakes.at(0).message, "a tab; YAML indents with spaces only");
}

}  // namespace
}  // namespace pawl::graph
