// JSON text is read exactly, within limits, and refused with a position.
#include "mapping/json_parse.h"

#include "base/random.h"
#include "mapping/json_text.h"
#include "mapping/number_text.h"

#include <gtest/gtest.h>
#include <boost/json/value.hpp>

#include <bit>
#include <cmath>

namespace pawl::mapping {
namespace {

// Random bit patterns: every double must come back as itself.
TEST(JsonParse, numbers_survive_being_written_and_read) {
  Random random(11);
  for (int i = 0; i < 200'000; ++i) {
    const double number = std::bit_cast<double>(random.next());
    if (!std::isfinite(number)) continue;
    const auto read = parse_json(json_text(boost::json::value(number)));
    ASSERT_TRUE(read);
    const double back = read->is_double() ? read->get_double() : read->to_number<double>();
    ASSERT_EQ(back, number) << number_text(number);
  }
}

TEST(JsonParse, refuses_with_line_and_column) {
  EXPECT_NE(parse_json("{\n  \"a\": tru\n}").error().detail.find("line 2"), std::string::npos);
  for (const char* wrong : {"", "{", "[1,]", "{'a':1}", "1 2", "nul", "\"\xff\"", "01", "+1", "1e999", "-1e999", "NaN"})
    EXPECT_FALSE(parse_json(wrong)) << wrong;
}

TEST(JsonParse, limits_the_depth) {
  EXPECT_TRUE(parse_json(std::string(64, '[') + std::string(64, ']')));
  EXPECT_FALSE(parse_json(std::string(65, '[') + std::string(65, ']')));
  EXPECT_FALSE(parse_json(std::string(1'000'000, '[')));
  const Error deep = parse_json(std::string(65, '[') + std::string(65, ']')).error();
  EXPECT_EQ(deep.detail, "JSON that nests more than 64 levels deep (json_depth_max): line 1, column 65");
}

// One value in parts of every size: JsonCheck reports the same as parse_json.
TEST(JsonCheck, agrees_with_the_parser_however_the_text_is_cut) {
  for (const std::string& text :
       {std::string("{\"a\": [1, -2.5e3, true, null, \"x\\u0041\"]}"), std::string("99.99"), std::string("\"\xff\""),
        std::string("1e999"), std::string("{\"a\": tru}"), std::string("[1,]"), std::string("{'a':1}"),
        std::string(64, '[') + std::string(64, ']'), std::string(65, '[') + std::string(65, ']')}) {
    for (std::size_t size = 1; size <= text.size() + 1; ++size) {
      JsonCheck check;
      bool fine = true;
      const std::string ended = text + "\n";  // a number ends where something else begins
      for (std::size_t at = 0; at < ended.size() && fine && !check.done(); at += size)
        fine = static_cast<bool>(check.take(std::string_view(ended).substr(at, size)));
      EXPECT_EQ(fine && check.done(), static_cast<bool>(parse_json(text))) << text << " in parts of " << size;
    }
  }
}

TEST(JsonCheck, takes_one_value_after_the_other) {
  JsonCheck check;
  const std::string_view text = "{\"a\":1}[2]";
  const auto first = check.take(text);
  ASSERT_TRUE(first && check.done());
  EXPECT_EQ(*first, 7u);
  check.reset();
  const auto second = check.take(text.substr(*first));
  ASSERT_TRUE(second && check.done());
  EXPECT_EQ(*second, 3u);
}

}  // namespace
}  // namespace pawl::mapping
