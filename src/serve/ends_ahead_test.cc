#include "serve/ends_ahead.h"

#include <gtest/gtest.h>

namespace pawl::serve {
namespace {

std::vector<RunId> runs(std::uint64_t first, std::uint64_t last) {
  std::vector<RunId> all;
  for (std::uint64_t run = first; run <= last; ++run) all.emplace_back(run);
  return all;
}

JobView ended(RunId run, JobStatus status = JobStatus::completed) {
  JobView job;
  job.run = run;
  job.status = status;
  return job;
}

TEST(EndsAheadTest, a_job_that_was_started_alone_is_waited_for_alone) {
  EndsAhead ends;
  ends.started(runs(1, 1));
  EXPECT_TRUE(ends.next(RunId(1)).empty());
  EXPECT_TRUE(ends.next(RunId(7)).empty());
}

TEST(EndsAheadTest, the_next_ones_are_asked_for_by_one_only_and_each_end_is_told_once) {
  EndsAhead ends;
  ends.started(runs(1, 5));
  EXPECT_EQ(ends.next(RunId(2)), runs(3, 5));
  EXPECT_TRUE(ends.next(RunId(1)).empty()) << "another one asks for them already";
  ends.came(runs(3, 5), {ended(RunId(3)), ended(RunId(4))});
  EXPECT_FALSE(ends.take(RunId(5)));
  EXPECT_EQ(ends.take(RunId(3))->run, RunId(3));
  EXPECT_FALSE(ends.take(RunId(3)));
  ends.forget(RunId(4));
  EXPECT_FALSE(ends.take(RunId(4)));
}

TEST(EndsAheadTest, only_an_end_that_stays_is_kept) {
  EndsAhead ends;
  ends.started(runs(1, 4));
  EXPECT_EQ(ends.next(RunId(1)), runs(2, 4));
  ends.came(runs(2, 4), {ended(RunId(2), JobStatus::failed), ended(RunId(3), JobStatus::parked)});
  for (const RunId run : runs(2, 4)) EXPECT_FALSE(ends.take(run)) << run.raw();
  EXPECT_EQ(ends.next(RunId(2)), runs(3, 4)) << "they are asked for again";
}

TEST(EndsAheadTest, asks_for_more_as_long_as_all_have_ended) {
  EndsAhead ends;
  ends.started(runs(1, 10'000));
  std::uint64_t at = 1;
  std::size_t before = 0;
  for (int i = 0; i < 3; ++i) {
    const auto asked = ends.next(RunId(at));
    EXPECT_GT(asked.size(), before);
    before = asked.size();
    std::vector<JobView> all;
    for (const RunId run : asked) all.push_back(ended(run));
    ends.came(asked, std::move(all));
    at = asked.back().raw() + 1;
  }
  ends.came(ends.next(RunId(at)), {});
  EXPECT_LE(ends.next(RunId(at + 1)).size(), before);
}

}  // namespace
}  // namespace pawl::serve
