#include "runtime/problem_filter.h"

#include <gtest/gtest.h>

#include "base/limits.h"

namespace pawl::runtime {

using Lines = std::vector<std::string>;

TEST(ProblemFilter, the_same_problem_is_said_once_in_a_window_and_counted) {
  ProblemFilter filter;
  const Duration now{5};
  EXPECT_EQ(filter.pass("bad", now), Lines{"bad"});
  for (int i = 0; i < 3000; ++i) EXPECT_EQ(filter.pass("bad", now + Duration(i)), Lines{});
  EXPECT_EQ(filter.pass("worse", now), Lines{"worse"});
  EXPECT_EQ(filter.pass("worse", now + limits::problem_window), (Lines{"bad (came 3000 times more)", "worse"}));
  EXPECT_EQ(filter.pass("worse", now + 2 * limits::problem_window), Lines{"worse"});
}

TEST(ProblemFilter, different_ones_are_limited_too_and_those_left_out_are_counted) {
  ProblemFilter filter;
  const Duration now{0};
  std::size_t said = 0;
  for (std::size_t i = 0; i < limits::problems_per_window_max + 7; ++i)
    said += filter.pass(std::to_string(i), now).size();
  EXPECT_EQ(said, limits::problems_per_window_max);
  EXPECT_EQ(filter.pass("x", now + limits::problem_window), (Lines{"7 other problems were not reported", "x"}));
}

TEST(ProblemFilter, problems_of_one_cause_count_as_one_whatever_their_words) {
  ProblemFilter filter;
  EXPECT_EQ(filter.pass("no money", "job a: no money", Duration{0}), Lines{"job a: no money"});
  EXPECT_EQ(filter.pass("no money", "job b: no money", Duration{1}), Lines{});
  EXPECT_EQ(filter.pass("no time", "job b: no time", Duration{1}), Lines{"job b: no time"});
  EXPECT_EQ(filter.pass("no money", "job c: no money", limits::problem_window),
            (Lines{"job a: no money (came 1 times more)", "job c: no money"}));
}

}  // namespace pawl::runtime
