// The tree of a job's activities: chains stay flat, rounds and items are folded, and it is quick.
#include "cli/job_tree.h"

#include <gtest/gtest.h>

#include <chrono>

namespace pawl::cli {
namespace {

class Tree : public testing::Test {
 protected:
  std::uint32_t add(const std::string& name, std::optional<std::uint32_t> parent, std::uint32_t plane = 0,
                    ActivityStatus status = ActivityStatus::completed) {
    ActivityView activity;
    activity.name = ActivityName(name);
    activity.parent = parent;
    activity.plane = plane;
    activity.status = status;
    detail.activities.push_back(activity);
    return static_cast<std::uint32_t>(detail.activities.size() - 1);
  }
  std::vector<std::string> lines(bool full = false) {
    std::vector<std::string> text;
    for (const TreeLine& line : tree_of(detail, full))
      text.push_back(
          std::string(line.depth, '.') +
          (line.activity ? detail.activities[*line.activity].name.raw() + (line.plane ? line.words : "") : line.words));
    return text;
  }
  JobDetail detail;
};
using Lines = std::vector<std::string>;

TEST_F(Tree, a_chain_stays_at_one_depth_and_branches_are_deeper) {
  const auto t = add("t", std::nullopt);
  const auto a = add("a", t);
  const auto b = add("b", a);
  add("c", b);
  add("d", b);
  EXPECT_EQ(lines(), (Lines{"t", "a", "b", ".c", ".d"}));
}

TEST_F(Tree, of_many_rounds_the_ends_and_what_is_notable_are_shown) {
  const auto pivot = add("pivot", std::nullopt);
  for (std::uint32_t i = 0; i < 100; ++i)
    add("work", pivot, i, i == 50 ? ActivityStatus::errored : ActivityStatus::completed);
  EXPECT_EQ(lines(), (Lines{"pivot", ".work[0]", ".work[1]", ".... 48 rounds like these", ".work[50]",
                            ".... 47 rounds like these", ".work[98]", ".work[99]"}));
  EXPECT_EQ(lines(true).size(), 101u);
}

TEST_F(Tree, costs_grow_with_the_number_of_activities_and_not_faster) {
  const auto time_of = [&](std::uint32_t rounds) {
    detail.activities.clear();
    auto pivot = add("pivot", std::nullopt);
    for (std::uint32_t i = 0; i < rounds; ++i) add("again", add("work", pivot, i));
    const auto begin = std::chrono::steady_clock::now();
    EXPECT_EQ(tree_of(detail, true).size(), 1 + 2 * std::size_t{rounds});
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  };
  time_of(1'000);
  EXPECT_LT(time_of(64'000), 5.0);
}

}  // namespace
}  // namespace pawl::cli
