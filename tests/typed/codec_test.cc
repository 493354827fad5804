// Described types as JSON: what is written is what is read, and an error names its field.
#include <cmath>
#include <deque>
#include <limits>
#include <set>

#include "shop.h"

namespace pawl {
namespace {

using namespace testing;

template <class T>
std::string refused(const std::string& json) {
  const auto value = decode<T>(Payload(json));
  return value ? "it was read" : value.error().detail;
}
template <class T>
T again(const T& value) {
  const auto bytes = encode(value);
  EXPECT_TRUE(bytes.ok()) << to_string(bytes.error());
  auto read = decode<T>(*bytes);
  EXPECT_TRUE(read.ok()) << bytes->str() << ": " << to_string(read.error());
  return read ? *read : T{};
}

TEST(Codec, a_described_struct_is_an_object_with_its_fields) {
  EXPECT_EQ(encode(order_of(99.99))->str(),
            R"({"customer":"Ann","lines":[{"item":"book","count":1,"sum":99.99,"size":"large"}],"points":{"gold":3}})");
  const Order read = again(order_of(99.99));
  ASSERT_EQ(read.lines.size(), 1u);
  EXPECT_EQ(read.lines[0].sum, 99.99);
  EXPECT_EQ(read.lines[0].size, Size::large);
  EXPECT_EQ(read.points.at("gold"), 3);
  EXPECT_FALSE(read.voucher.has_value());
}

TEST(Codec, values_of_every_kind_survive) {
  EXPECT_EQ(again(std::string("a \"b\"\n")), "a \"b\"\n");
  EXPECT_EQ(again(std::numeric_limits<std::int64_t>::min()), std::numeric_limits<std::int64_t>::min());
  EXPECT_EQ(again(std::numeric_limits<std::uint64_t>::max()), std::numeric_limits<std::uint64_t>::max());
  EXPECT_EQ(again(0.1f), 0.1f);
  EXPECT_TRUE(again(true));
  EXPECT_EQ(again(std::deque<int>{1, 2}), (std::deque<int>{1, 2}));
  EXPECT_EQ(again(std::set<std::string>{"b", "a"}), (std::set<std::string>{"a", "b"}));
  EXPECT_EQ(again(std::vector<bool>{true, false}), (std::vector<bool>{true, false}));
  EXPECT_EQ(again(std::array<int, 2>{4, 5}), (std::array<int, 2>{4, 5}));
  EXPECT_EQ(again(std::pair<int, std::string>{1, "one"}), (std::pair<int, std::string>{1, "one"}));
  EXPECT_EQ(again(std::optional<int>()), std::optional<int>());
  EXPECT_EQ(decode<JobId>(*encode(JobId("j")))->raw(), "j");
  EXPECT_EQ(decode<Payload>(Payload("not json"))->str(), "not json") << "bytes are passed on as they are";
}

TEST(Codec, an_error_names_the_path_of_the_field_and_what_was_expected) {
  const std::string line = R"({"item":"x","count":1,"sum":2,"size":"small"})";
  const auto order = [&](const std::string& third) {
    return refused<Order>(R"({"customer":"A","points":{},"lines":[)" + line + "," + line + "," + third + "]}");
  };
  EXPECT_EQ(order(R"({"item":"x","count":1,"sum":"2","size":"small"})"),
            "lines[2].sum: expected a number, found a string");
  EXPECT_EQ(order(R"({"item":"x","count":1,"size":"small"})"), "lines[2].sum: is missing");
  EXPECT_EQ(order(R"({"item":null,"count":1,"sum":2,"size":"small"})"), "lines[2].item: expected a string, found null");
  EXPECT_EQ(order(R"({"item":"x","count":1.5,"sum":2,"size":"small"})"),
            "lines[2].count: expected a whole number, found 1.5");
  EXPECT_EQ(order(R"({"item":"x","count":3000000000,"sum":2,"size":"small"})"),
            "lines[2].count: 3000000000 does not fit: expected -2147483648 to 2147483647");
  EXPECT_EQ(order(R"({"item":"x","count":1,"sum":2,"size":"huge"})"),
            "lines[2].size: expected one of small, large, found \"huge\"");
  EXPECT_EQ(order("7"), "lines[2]: expected an object, found a number");
  EXPECT_EQ(refused<Order>(R"({"customer":"A","lines":[],"points":{"gold":true}})"),
            "points.gold: expected a whole number, found true or false");
  EXPECT_EQ(refused<Order>("[]"), "expected an object, found a list");
  EXPECT_EQ(refused<Order>(""), "expected an object, found null");
  EXPECT_NE(refused<Order>("{").find("not JSON: line 1"), std::string::npos);
}

TEST(Codec, an_optional_field_may_be_missing_or_null_and_an_unknown_one_is_ignored) {
  EXPECT_TRUE(decode<Order>(Payload(R"({"customer":"A","lines":[],"points":{},"voucher":null,"newer":[1]})")).ok());
  const auto with = decode<Order>(Payload(R"({"customer":"A","lines":[],"points":{},"voucher":"V"})"));
  ASSERT_TRUE(with.ok());
  EXPECT_EQ(with->voucher, "V");
  EXPECT_EQ(*decode<std::optional<int>>(Payload()), std::nullopt) << "nothing is read as null";
}

TEST(Codec, what_json_does_not_have_is_refused_by_its_field) {
  const auto bytes = encode(order_of(std::nan("")));
  ASSERT_FALSE(bytes.ok());
  EXPECT_EQ(bytes.error().detail, "lines[0].sum: is not a finite number, which JSON does not have");
  Order order = order_of(1);
  order.lines[0].size = static_cast<Size>(7);
  EXPECT_EQ(encode(order).error().detail, "lines[0].size: is 7, which has no name");
}

TEST(Time, an_instant_converts_to_and_from_chrono) {
  const auto now = std::chrono::system_clock::now();
  const Instant instant = now;
  EXPECT_EQ(instant.time_point(), std::chrono::floor<std::chrono::microseconds>(now));
  EXPECT_EQ((instant + 1h).time_point() - instant.time_point(), 1h);
  EXPECT_EQ(Instant(std::chrono::system_clock::time_point(-1ns)).micros(), -1) << "rounded down, also before 1970";
}

}  // namespace
}  // namespace pawl
