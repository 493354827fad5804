// A job's size in memory is counted when the job changes, not when it is asked for.
#include <gtest/gtest.h>

#include <string>

#include "core/job_state.h"

namespace pawl::core {

namespace {

Payload of(std::size_t bytes) { return Payload(std::string(bytes, 'x')); }

Activity sized_activity(std::uint32_t seq, std::size_t output) {
  Activity result;
  result.seq = ActivitySeq(seq);
  result.output = of(output);
  return result;
}

WorkItem item(std::uint32_t seq, std::size_t input) {
  WorkItem result;
  result.activity = ActivitySeq(seq);
  result.input = of(input);
  return result;
}

TEST(JobBytesTest, what_takes_the_place_of_something_counts_instead_of_it) {
  JobState state;
  state.put(sized_activity(0, 1000));
  const std::size_t one = state.bytes();
  EXPECT_GE(one, 1000u);
  state.put(sized_activity(0, 3000));
  EXPECT_EQ(state.bytes(), one + 2000);
  state.put(sized_activity(0, 0));
  EXPECT_EQ(state.bytes(), one - 1000);
  MessageRecord record;
  record.output = of(500);
  state.put(record);
  const std::size_t with_record = state.bytes();
  record.output = of(700);
  state.put(record);
  EXPECT_EQ(state.bytes(), with_record + 200);
  state.job.data = of(10'000);
  EXPECT_EQ(state.bytes(), with_record + 200 + 10'000);
}

TEST(JobBytesTest, work_that_is_gone_counts_no_more) {
  JobState state;
  state.put(item(0, 1000));
  const std::size_t one = state.bytes();
  state.put(item(0, 4000));
  EXPECT_EQ(state.bytes(), one + 3000);
  state.put(item(1, 1000));
  EXPECT_EQ(state.bytes(), 2 * one + 3000);
  state.drop_work(ActivitySeq(0));
  state.drop_work(ActivitySeq(7));
  EXPECT_EQ(state.bytes(), one);
  state.put(item(2, 50));
  state.drop_all_work();
  EXPECT_EQ(state.bytes(), 0u);
}

}  // namespace

}  // namespace pawl::core
