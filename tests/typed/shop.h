// The types that the tests of typed jobs use.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "pawl_boost/json.h"
#include "testing.h"

namespace pawl::testing {

enum class Size { small, large };
BOOST_DESCRIBE_ENUM(Size, small, large)

struct Line {
  std::string item;
  int count = 1;
  double sum = 0;
  Size size = Size::small;
};
BOOST_DESCRIBE_STRUCT(Line, (), (item, count, sum, size))

struct Order {
  std::string customer;
  std::vector<Line> lines;
  std::optional<std::string> voucher;
  std::map<std::string, int> points;
};
BOOST_DESCRIBE_STRUCT(Order, (), (customer, lines, voucher, points))

struct Receipt {
  std::string key;
  double total = 0;
};
BOOST_DESCRIBE_STRUCT(Receipt, (), (key, total))

inline Order order_of(double sum) { return {"Ann", {{"book", 1, sum, Size::large}}, {}, {{"gold", 3}}}; }

}  // namespace pawl::testing
