#include "serve/work_queue.h"

#include <gtest/gtest.h>

namespace pawl::serve {

namespace {

using namespace std::chrono_literals;

void finish(WorkQueue& queue, std::size_t attempts, Duration each) {
  for (std::size_t i = 0; i < attempts; ++i) queue.finished(each);
}

TEST(WorkQueueTest, takes_little_at_first) {
  EXPECT_EQ(WorkQueue(1).room(), 8u);
  EXPECT_EQ(WorkQueue(16).room(), 32u);
}

TEST(WorkQueueTest, of_quick_work_takes_more_up_to_the_limit) {
  WorkQueue queue(4);
  finish(queue, 8, 10us);
  EXPECT_EQ(queue.room(), 16u);
  finish(queue, 100'000, 10us);
  EXPECT_EQ(queue.room(), limits::stream_work_max);
}

TEST(WorkQueueTest, of_slow_work_stays_small) {
  WorkQueue queue(4);
  finish(queue, 1000, 1s);
  EXPECT_EQ(queue.room(), 8u);
}

TEST(WorkQueueTest, stays_as_it_is_when_the_wait_is_neither_short_nor_long) {
  WorkQueue queue(4);
  finish(queue, 1000, 50ms);  // eight of them are done by four threads in 100 ms
  EXPECT_EQ(queue.room(), 8u);
}

TEST(WorkQueueTest, shrinks_when_the_work_becomes_slow) {
  WorkQueue queue(4);
  finish(queue, 100'000, 10us);
  finish(queue, 100'000, 1s);
  EXPECT_EQ(queue.room(), 8u);
}

}  // namespace

}  // namespace pawl::serve
