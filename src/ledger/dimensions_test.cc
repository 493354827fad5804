#include "ledger/dimensions.h"

#include "base/random.h"
#include "ledger/testing.h"

#include <string>
#include <unordered_set>
#include <vector>

namespace pawl::ledger {
namespace {

Dimensions at(std::string_view text) { return Dimensions::parse(text).value(); }

TEST(dimensions, the_trigger_stands_at_the_root) {
  EXPECT_EQ(Dimensions::trigger().text(), ",0");
  EXPECT_EQ(Dimensions::trigger().depth(), 1U);
  EXPECT_EQ(Dimensions::trigger().plane(), 0U);
}

TEST(dimensions, a_child_stands_one_deeper_in_plane_zero) {
  EXPECT_EQ(Dimensions::trigger().child().text(), ",0,0");
  EXPECT_EQ(at(",0,1").child().text(), ",0,1,0");
  EXPECT_EQ(at(",0,1").child().depth(), 3U);
}

TEST(dimensions, a_plane_replaces_the_last_index_only) {
  EXPECT_EQ(at(",0,0").in_plane(1).text(), ",0,1");
  EXPECT_EQ(at(",3,0,12").in_plane(0).text(), ",3,0,0");
  EXPECT_EQ(at(",0").in_plane(Dimensions::plane_max).text(), ",99999998");
  EXPECT_EQ(at(",0,7").in_plane(10).plane(), 10U);
}

// A cycle at ,0,3,0,0 goes back to its pivot at depth 2 (the trigger's child).
TEST(dimensions, a_cycle_returns_to_plane_zero_of_its_pivot) {
  EXPECT_EQ(at(",0,3,0,0").prefix(2).in_plane(0).text(), ",0,0");
  EXPECT_EQ(at(",0,3,0,0").prefix(4).text(), ",0,3,0,0");
  EXPECT_EQ(at(",10,3").prefix(1).text(), ",10");
}

TEST(dimensions, parse_takes_the_canonical_form_only) {
  for (const char* text :
       {"", "0", ",", ",0,", ",,0", ",00", ",01", ",0,010", ",-1", ",+1", ",0 ", " ,0", ",0x", "0,0", ",0;0", ",1.5"})
    EXPECT_EQ(outcome(Dimensions::parse(text)), "invalid") << '"' << text << '"';
  EXPECT_EQ(outcome(Dimensions::parse(std::string_view(",0\0", 3))), "invalid");
}

TEST(dimensions, parse_refuses_planes_beyond_the_last_ordinal) {
  EXPECT_EQ(outcome(Dimensions::parse(",99999998")), "ok");
  EXPECT_EQ(outcome(Dimensions::parse(",99999999")), "over_limit");
  EXPECT_EQ(outcome(Dimensions::parse(",4294967296")), "over_limit");
  EXPECT_EQ(outcome(Dimensions::parse("," + std::string(50, '9'))), "over_limit");
}

TEST(dimensions, parse_refuses_paths_deeper_than_the_limit) {
  EXPECT_EQ(outcome(Dimensions::parse(",0*100000")), "ok");
  EXPECT_EQ(outcome(Dimensions::parse(",0*100000,1")), "over_limit");
  EXPECT_EQ(outcome(Dimensions::parse(",0*100001")), "over_limit");
  EXPECT_EQ(outcome(Dimensions::parse(",0*999999999999999999999")), "over_limit");
  EXPECT_EQ(outcome(Dimensions::parse(std::string(10'000'000, ','))), "over_limit");
}

// Claim: an address stays short in a deep chain and every part of it can still be read. Checked by walking one.
TEST(dimensions, a_row_of_zeros_is_folded_so_that_a_deep_chain_stays_cheap) {
  Dimensions place = Dimensions::trigger();
  for (std::size_t depth = 2; depth <= 10'000; ++depth) {
    place = place.child();
    ASSERT_EQ(place.depth(), depth);
    ASSERT_LE(place.text().size(), 14U);
  }
  EXPECT_EQ(place.text(), ",0*10000");
  EXPECT_EQ(place.in_plane(3).text(), ",0*9999,3");
  EXPECT_EQ(place.in_plane(3).in_plane(0), place);
  EXPECT_EQ(place.prefix(7).text(), ",0,0,0,0,0,0,0");
  EXPECT_EQ(place.prefix(8).text(), ",0*8");
  EXPECT_EQ(place.prefix(8).in_plane(1).text(), ",0,0,0,0,0,0,0,1");
  EXPECT_LT(place, place.child());
  EXPECT_LT(place.prefix(9), place.prefix(8).in_plane(1));
  for (const char* text : {",0,0,0,0,0,0,0,0", ",0*7", ",0*", ",0*08", ",1*8", ",0*8,0", ",0*8*8", ",0,0*8"})
    EXPECT_EQ(outcome(Dimensions::parse(text)), "invalid") << text;
}

using dimensions_death_test = ::testing::Test;
TEST_F(dimensions_death_test, a_child_beyond_the_limit_is_our_own_bug) {
  EXPECT_DEATH(static_cast<void>(at(",0*100000").child()), "depth has a limit");
  EXPECT_DEATH(static_cast<void>(at(",0").in_plane(Dimensions::plane_max + 1)), "ordinal");
  EXPECT_DEATH(static_cast<void>(at(",0").prefix(2)), "not deeper");
}

// Claim: the order is that of the index lists. Checked by comparing random pairs with std::vector's order.
TEST(dimensions, are_ordered_by_number_part_by_part) {
  Random random(20'240'611);
  const auto random_path = [&random] {
    std::vector<std::uint32_t> path(1 + random.below(4));
    for (auto& index : path) index = static_cast<std::uint32_t>(random.below(random.one_in(2) ? 3 : 1'100));
    return path;
  };
  const auto text_of = [](const std::vector<std::uint32_t>& path) {
    std::string text;
    for (const std::uint32_t index : path) text += "," + std::to_string(index);
    return text;
  };
  for (int round = 0; round < 20'000; ++round) {
    const auto a = random_path();
    const auto b = random_path();
    EXPECT_EQ(at(text_of(a)) <=> at(text_of(b)), a <=> b) << text_of(a) << " and " << text_of(b);
    EXPECT_EQ(at(text_of(a)) == at(text_of(b)), a == b);
  }
  EXPECT_LT(at(",0,2"), at(",0,10"));
  EXPECT_LT(at(",0,1"), at(",0,1,0"));
  EXPECT_LT(at(",0,1,99"), at(",0,2"));
}

// Claim: no two places of a job share an address. Checked by walking every path of four planes and four depths.
TEST(dimensions, every_place_has_its_own_address_and_reads_back) {
  std::unordered_set<Dimensions> seen;
  std::vector<Dimensions> level = {Dimensions::trigger()};
  for (int depth = 0; depth < 4; ++depth) {
    std::vector<Dimensions> next;
    for (const Dimensions& place : level)
      for (const std::uint32_t plane : {0U, 1U, 9U, 10U}) {
        const Dimensions in_plane = place.in_plane(plane);
        EXPECT_TRUE(seen.insert(in_plane).second) << in_plane.text();
        EXPECT_EQ(at(in_plane.text()), in_plane);
        EXPECT_EQ(in_plane.plane(), plane);
        next.push_back(in_plane.child());
      }
    level = std::move(next);
  }
  EXPECT_EQ(seen.size(), 4U + 16U + 64U + 256U);
}

}  // namespace
}  // namespace pawl::ledger
