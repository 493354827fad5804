#include "store/sqlite/commit_tally.h"

#include <gtest/gtest.h>

namespace pawl::store::sqlite {
namespace {

TEST(CommitTally, has_no_gap_while_every_commit_is_known) {
  CommitTally tally(10);
  EXPECT_FALSE(tally.has_gap());
  tally.know(11);
  tally.know(12);
  tally.know(5);
  EXPECT_FALSE(tally.has_gap());
}

TEST(CommitTally, a_ring_that_comes_late_closes_its_gap) {
  CommitTally tally(10);
  tally.know(13);
  tally.know(12);
  EXPECT_TRUE(tally.has_gap());
  tally.know(11);
  EXPECT_FALSE(tally.has_gap());
  tally.know(14);
  EXPECT_FALSE(tally.has_gap());
}

TEST(CommitTally, a_commit_that_is_seen_and_not_known_is_a_gap_until_it_is_forgiven) {
  CommitTally tally(10);
  tally.see(12);
  tally.know(11);
  EXPECT_TRUE(tally.has_gap());
  tally.forgive();
  EXPECT_FALSE(tally.has_gap());
  tally.know(13);
  EXPECT_FALSE(tally.has_gap());
  tally.see(13);
  EXPECT_FALSE(tally.has_gap());
}

}  // namespace
}  // namespace pawl::store::sqlite
