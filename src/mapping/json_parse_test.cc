// JSON text is read exactly, within limits, and refused with a place.
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
  for (const char* wrong :
       {"", "{", "[1,]", "{'a':1}", "1 2", "nul", "\"\xff\"", "01", "+1", "1e999", "-1e999", "NaN"})
    EXPECT_FALSE(parse_json(wrong)) << wrong;
}

TEST(JsonParse, limits_the_depth) {
  EXPECT_TRUE(parse_json(std::string(64, '[') + std::string(64, ']')));
  EXPECT_FALSE(parse_json(std::string(65, '[') + std::string(65, ']')));
  EXPECT_FALSE(parse_json(std::string(1'000'000, '[')));
}

}  // namespace
}  // namespace pawl::mapping
