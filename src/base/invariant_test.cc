#include "base/invariant.h"

#include <gtest/gtest.h>

#include <type_traits>
#include <variant>

namespace pawl {
namespace {

struct Red {};
struct Green {};
struct Blue {
  int depth = 0;
};

TEST(each_of, answers_for_its_kinds) {
  const auto depth_of = [](const std::variant<Red, Green, Blue>& colour) {
    return std::visit(Overloaded{each_of<Red, Green>([] { return 0; }), [](const Blue& blue) { return blue.depth; }},
                      colour);
  };
  EXPECT_EQ(depth_of(Red{}), 0);
  EXPECT_EQ(depth_of(Green{}), 0);
  EXPECT_EQ(depth_of(Blue{3}), 3);
}

// What std::visit requires of a visitor: a kind that is not named does not compile.
TEST(each_of, answers_for_no_other_kind) {
  const auto few = each_of<Red, Green>([] { return 0; });
  EXPECT_TRUE((std::is_invocable_v<decltype(few), const Red&>));
  EXPECT_FALSE((std::is_invocable_v<decltype(few), const Blue&>));
}

}  // namespace
}  // namespace pawl
