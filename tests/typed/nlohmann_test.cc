// The adapter for types with to_json and from_json.
#include "pawl_nlohmann/json.h"

#include "testing.h"

namespace pawl {
namespace {

using namespace testing;

struct Parcel {
  std::string street;
  std::vector<int> weights;
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Parcel, street, weights)

TEST(Nlohmann, a_type_with_to_json_and_from_json_is_input_and_result) {
  auto runtime = pawl::open(":memory:");
  ASSERT_TRUE(runtime.ok());
  auto graph = GraphBuilder("parcel").trigger("t").worker("act", "act").after("t").build();
  ASSERT_TRUE(runtime->deploy(std::move(*graph)).ok());
  ASSERT_TRUE(runtime
                  ->serve("act",
                          [](Parcel parcel) {
                            parcel.weights.push_back(7);
                            return parcel;
                          })
                  .ok());
  auto job = runtime->start<Parcel>("parcel", Parcel{"Main", {1}});
  ASSERT_TRUE(job.ok());
  const auto parcel = job->result(20s);
  ASSERT_TRUE(parcel.ok()) << to_string(parcel.error());
  EXPECT_EQ(parcel->weights, (std::vector<int>{1, 7}));
}

TEST(Nlohmann, an_error_names_the_field) {
  const auto wrong = decode<Parcel>(Payload(R"({"street":"M","weights":[1,"2"]})"));
  ASSERT_FALSE(wrong.ok());
  EXPECT_EQ(wrong.error().detail, "weights[1]: type must be number, but is string");
  const auto missing = decode<Parcel>(Payload(R"({"weights":[]})"));
  ASSERT_FALSE(missing.ok());
  EXPECT_NE(missing.error().detail.find("key 'street' not found"), std::string::npos) << missing.error().detail;
  EXPECT_FALSE(decode<Parcel>(Payload("{")).ok());
}

}  // namespace
}  // namespace pawl
